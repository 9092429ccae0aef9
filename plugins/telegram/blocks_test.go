package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// everything is all that there is in Markdown.
const everything = "# Title\n\nA **bold _and italic_** text with `code`, a [link](https://example.com/a) and https://example.com.\n\n" +
	"- one\n- two\n  - deeper\n\n3. three\n4. four\n\n- [x] done\n- [ ] to do\n\n> said\n> again\n\n```go\nx := 1\ny := 2\n```\n\n---\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n"

// TestARepliedRichMessage is quoted with what it says, though it has no text to Telegram.
// Behaviour: telegram-rich.
func TestARepliedRichMessage(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.Group(-200, "Family")
	anna := s.User(7)
	rich, usual := newRich(t, s), newChannel(t, s)
	first := func(r chat.Receipt, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		replies := s.Replies(7)
		if len(replies) == 0 || messageID(replies[len(replies)-1].ID) != r.IDs[0] {
			t.Fatalf("the receipt is %q", r.IDs)
		}
		return replies[len(replies)-1].ID
	}
	to := chat.Address{Chat: "7"}
	table := first(rich.Send(t.Context(), chat.Outgoing{To: to, Text: everything}))
	changed := first(rich.Send(t.Context(), chat.Outgoing{To: to, Text: "so far"}))
	if err := rich.Edit(t.Context(), to, messageID(changed), "**all** of it", nil); err != nil {
		t.Fatal(err)
	}
	plain := first(usual.Send(t.Context(), chat.Outgoing{To: to, Text: "a **plain** one"}))
	anna.Post(telegramtest.Post{Text: "what is this?", ReplyTo: table})
	anna.Post(telegramtest.Post{Text: "and this part?", ReplyTo: table, Quote: "two"})
	anna.Post(telegramtest.Post{Text: "yes", ReplyTo: changed})
	anna.Post(telegramtest.Post{Text: "no", ReplyTo: plain})
	forward := anna.Post(telegramtest.Post{Text: "> a quote\n\nand **more**", Rich: true, ForwardedFrom: "somebody"})
	anna.Edit(7, forward.ID, "*less*")
	run(t, usual, in)
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	quoted := "Title\n\nA bold and italic text with code, a link (https://example.com/a) and https://example.com.\n\n" +
		"• one\n• two\n  • deeper\n\n3. three\n4. four\n\n☑ done\n☐ to do\n\n> said again\n\nx := 1\ny := 2\n\na | b\n1 | 2"
	var got []string
	for _, e := range in.events {
		switch body := e.Body.(type) {
		case chat.Message:
			if body.ReplyTo == nil {
				got = append(got, body.Text)
			} else if body.ReplyTo.IsSelf {
				got = append(got, body.Text+": "+body.ReplyTo.Text)
			}
		case chat.Edited:
			got = append(got, body.Text)
		}
	}
	want := []string{"what is this?: " + quoted, "and this part?: two", "yes: all of it", "no: a plain one", "> a quote\n\nand more", "less"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBlocks are those that Markdown has not, and those that are otherwise than they should be.
// Behaviour: telegram-rich.
func TestBlocks(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"type":"blockquote","blocks":[`, 500) + `{"type":"paragraph","text":"deep"}` + strings.Repeat(`]}`, 500)
	for name, test := range map[string]struct{ blocks, want string }{
		"more looks": {`[{"type":"paragraph","text":["E ",{"type":"mathematical_expression","expression":"mc^2"}," ",
			{"type":"custom_emoji","custom_emoji_id":"5","alternative_text":"🙂"}," ",{"type":"spoiler","text":[{"type":"bold","text":"b"},"c"]},
			" ",{"type":"mention","text":"@anna","username":"anna"},{"type":"anchor","name":"here"}," ",{"type":"button","button":{"text":"More"}}]}]`, "E mc^2 🙂 bc @anna More"},
		"quotes":      {`[{"type":"pullquote","text":"a\nb","credit":"Anna"},{"type":"expandable_blockquote","text":"c"}]`, "> a\n> b\n> Anna\n\n> c"},
		"details":     {`[{"type":"details","summary":{"type":"bold","text":"More"},"blocks":[{"type":"footer","text":"f"}]}]`, "More\nf"},
		"expressions": {`[{"type":"mathematical_expression","expression":"x"},{"type":"thinking","text":"hm"}]`, "x\n\nhm"},
		"what is shown": {`[{"type":"photo","photo":[],"caption":{"text":"at sea","credit":"Anna"}},{"type":"voice_note"},
			{"type":"collage","blocks":[{"type":"photo"},{"type":"video"}],"caption":{"text":"both"}},
			{"type":"map","location":{"latitude":1,"longitude":2}},{"type":"map"}]`, "[photo] at sea\n\n[voice note]\n\n[photo]\n\n[video]\nboth\n\n[map: 1.000000, 2.000000]\n\n[map]"},
		"a table with a caption":  {`[{"type":"table","caption":"t","cells":[[{"text":"a\nb"},{}],[{"text":"c"}]]}]`, "t\na b |\nc"},
		"a list without labels":   {`[{"type":"list","items":[{"blocks":[{"type":"paragraph","text":"a"},{"type":"paragraph","text":"b"}]},{"label":"i."},"x"]}]`, "• a\n  b"},
		"nothing to read":         {`[{"type":"divider"},{"type":"anchor","name":"a"},{"type":"paragraph","text":" "},{"type":"buttons","buttons":[{"text":"Yes"}]}]`, ""},
		"what is not known":       {`[{"type":"hologram","text":"seen","blocks":[{"type":"paragraph","text":"in it"}]}]`, "seen\n\nin it"},
		"of other types":          {`[5,"x",null,[],{"type":7,"text":5},{"type":"list","items":{}},{"type":"table","cells":[5,[5]]},{"type":"map","location":"x"},{"text":"t"}]`, "[map]\n\nt"},
		"no list":                 {`{"type":"paragraph","text":"x"}`, ""},
		"an address that is none": {`[{"type":"paragraph","text":{"type":"url","text":"a","url":"x y"}}]`, "a"},
		"too deep":                {"[" + nested + "]", ""},
	} {
		var message any
		if err := json.Unmarshal([]byte(`{"blocks":`+test.blocks+`}`), &message); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, richText(message)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	long := map[string]any{"blocks": []any{map[string]any{"type": "paragraph", "text": strings.Repeat("ü", maxBlocks)}}}
	if got := richText(long); len(got) > maxBlocks || !strings.HasSuffix(got, "ü") {
		t.Errorf("a long one has %d bytes", len(got))
	}
}

// FuzzRichText takes anything for a rich message.
func FuzzRichText(f *testing.F) {
	f.Add(`{"blocks":[{"type":"list","items":[{"label":"•","blocks":[{"type":"paragraph","text":["a",{"type":"url","text":"b","url":"c"}]}]}]}]}`)
	f.Add(`{"blocks":[{"type":"table","cells":[[{"text":"a"}]]},{"type":"blockquote","blocks":[{"type":"photo"}]}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var message any
		if json.Unmarshal([]byte(raw), &message) == nil && len(richText(message)) > maxBlocks {
			t.Error("it is too long")
		}
	})
}
