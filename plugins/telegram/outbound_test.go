package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: reply-gone.
func TestSend(t *testing.T) {
	t.Parallel()
	const forum = -100
	s := telegramtest.New(t)
	s.Forum(forum, "forum")
	anna := s.User(7)
	topic := s.Topic(anna, forum, "plans")
	asked := anna.Send(0, "what?")
	c := newChannel(t, s)
	for _, test := range []struct {
		name string
		out  chat.Outgoing
		want telegramtest.Message
	}{
		{
			"Markdown",
			chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "**bold** and `code`"},
			telegramtest.Message{
				Chat: 7, Text: "bold and code",
				Entities: []telegramtest.Entity{{Type: "bold", Length: 4}, {Type: "code", Offset: 9, Length: 4}},
			},
		},
		{
			"reply, silent",
			chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "that", ReplyTo: messageID(asked.ID), Silent: true},
			telegramtest.Message{Chat: 7, Text: "that", ReplyTo: asked.ID, Silent: true},
		},
		{
			"reply to what is gone",
			chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "that", ReplyTo: "99"},
			telegramtest.Message{Chat: 7, Text: "that"},
		},
		{
			"reply to a message of another network",
			chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "that", ReplyTo: "1234567890123456789"},
			telegramtest.Message{Chat: 7, Text: "that"},
		},
		{
			"reply to no number",
			chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "that", ReplyTo: "the last one"},
			telegramtest.Message{Chat: 7, Text: "that"},
		},
		{
			"reply to nothing",
			chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "that", ReplyTo: "0"},
			telegramtest.Message{Chat: 7, Text: "that"},
		},
		{
			"topic",
			chat.Outgoing{To: chat.Address{Chat: "-100", Thread: chat.ThreadID(messageID(topic))}, Text: "there"},
			telegramtest.Message{Chat: forum, Text: "there", Thread: topic},
		},
		{
			"General topic",
			chat.Outgoing{To: chat.Address{Chat: "-100", Thread: "1"}, Text: "there"},
			telegramtest.Message{Chat: forum, Text: "there"},
		},
	} {
		receipt, err := c.Send(t.Context(), test.out)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		replies := s.Replies(test.want.Chat)
		got := replies[len(replies)-1]
		if len(receipt.IDs) != 1 || receipt.IDs[0] != messageID(got.ID) {
			t.Errorf("%s: receipt %v for message %d", test.name, receipt, got.ID)
		}
		test.want.ID, test.want.From, test.want.At = got.ID, s.Bot().ID, got.At
		if diff := cmp.Diff(test.want, got, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// unexported are the fields that a test cannot see.
func unexported(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name()[0] >= 'a' && field.Name()[0] <= 'z'
}

func TestLinkPreviews(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		s := telegramtest.New(t)
		s.User(7)
		c, err := open(t.Context(), sdk.Env{Log: slog.New(slog.DiscardHandler)},
			config{Token: sdk.NewSecret(s.Token()), APIEndpoint: s.URL() + "/", LinkPreviews: on})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "https://a.example"}); err != nil {
			t.Fatal(err)
		}
		if off := s.Calls("sendMessage")[0].Params["link_preview_options"] == `{"is_disabled":true}`; off == on {
			t.Errorf("link_previews = %t: disabled %t", on, off)
		}
	}
}

// growing is Markdown within the limit that is beyond it when rendered: an item's lines are indented.
func growing() string { return "- **list\n" + strings.Repeat("a\n", rowsOfGrowing) + "end**" }

const rowsOfGrowing = 2000

func TestTextThatGrewIsSentInParts(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	asked := s.User(7).Send(0, "list them")
	c := newChannel(t, s)
	out := chat.Outgoing{
		Key: "k", To: chat.Address{Chat: "7"}, Text: growing(), ReplyTo: messageID(asked.ID), Buttons: [][]chat.Button{{{Label: "More", Data: "m"}}},
	}
	if n := len(utf16.Encode([]rune(out.Text))); n > textLimit.Max {
		t.Fatalf("the source has %d units", n)
	}
	// The second part fails at first; the host sends the message again.
	s.Fail("sendMessage", 1, telegramtest.Slow(0))
	s.Fail("sendMessage", 1, telegramtest.TooManyRequests(0))
	_, err := c.Send(t.Context(), out)
	if f, _ := errors.AsType[*chat.Failure](err); f == nil || f.Reason != chat.RateLimited {
		t.Fatalf("got %v", err)
	}
	receipt, err := c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	replies := s.Replies(7)
	if len(replies) < 3 || len(receipt.IDs) != len(replies) {
		t.Fatalf("%d messages, %d ids", len(replies), len(receipt.IDs))
	}
	rows := 0
	for i, m := range replies {
		rows += strings.Count(m.Text, "a")
		if messageID(m.ID) != receipt.IDs[i] || m.Entities[0].Type != "bold" || (m.ReplyTo != 0) != (i == 0) || (m.Buttons != nil) != (i == len(replies)-1) {
			t.Errorf("part %d: %+v", i, m)
		}
	}
	if rows != rowsOfGrowing {
		t.Errorf("%d of %d rows arrived", rows, rowsOfGrowing)
	}
}

func TestGroupThatMigrated(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.SmallGroup(-5, "small")
	s.Migrate(s.User(7), -5, -1005)
	if _, err := newChannel(t, s).Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "-5"}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if got := s.Replies(-1005); len(got) != 1 {
		t.Errorf("in the new group: %+v", got)
	}
}

// TestRefusedEntities: the text arrives without its looks.
func TestRefusedEntities(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	s.Fail("sendMessage", 1, telegramtest.Refuse(400, "Bad Request: ENTITY_TEXT_INVALID"))
	if _, err := newChannel(t, s).Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "**hello**"}); err != nil {
		t.Fatal(err)
	}
	if got := s.Replies(7); len(got) != 1 || got[0].Text != "hello" || len(got[0].Entities) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestRefusedReply: the text arrives, though it answers nothing then.
// Behaviour: reply-gone.
func TestRefusedReply(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	s.Fail("sendMessage", 1, telegramtest.Refuse(400, "Bad Request: message to be replied not found"))
	if _, err := newChannel(t, s).Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "hello", ReplyTo: "5"}); err != nil {
		t.Fatal(err)
	}
	if got := s.Replies(7); len(got) != 1 || got[0].Text != "hello" || got[0].ReplyTo != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestRefusedHere(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	c := newChannel(t, s)
	for name, test := range map[string]struct {
		out  chat.Outgoing
		want chat.Reason
	}{
		"nothing":                {chat.Outgoing{Text: " \n"}, chat.Invalid},
		"a file without bytes":   {chat.Outgoing{Text: "x", Media: []chat.Media{{Kind: chat.Image}}}, chat.MediaRejected},
		"a file that is too big": {chat.Outgoing{Text: "x", Media: []chat.Media{{Ref: "r", Size: maxUpload + 1}}}, chat.MediaRejected},
		"buttons under an album": {
			chat.Outgoing{Media: []chat.Media{{Ref: "a", Kind: chat.Image}, {Ref: "b", Kind: chat.Image}}, Buttons: [][]chat.Button{{{Label: "l", Data: "d"}}}},
			chat.Invalid,
		},
	} {
		_, err := c.Send(t.Context(), test.out)
		if f, _ := errors.AsType[*chat.Failure](err); f == nil || f.Reason != test.want || f.MaybeDelivered {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Edit(t.Context(), chat.Address{Chat: "7"}, "1", growing(), nil); err == nil {
		t.Error("an edit that needs several messages went through")
	}
	if calls := s.Calls(""); len(calls) != 0 {
		t.Errorf("asked the server: %+v", calls)
	}
}

func TestTypingAndReactions(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.Forum(-100, "forum")
	asked := s.User(7).Send(0, "what?")
	c, to := newChannel(t, s), chat.Address{Chat: "7"}
	for _, err := range []error{
		c.Typing(t.Context(), to, true),
		c.Typing(t.Context(), chat.Address{Chat: "-100", Thread: "1"}, true),
		c.Typing(t.Context(), to, false),
		c.React(t.Context(), to, messageID(asked.ID), "👀"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if calls := s.Calls("sendChatAction"); len(calls) != 2 || calls[1].Params["message_thread_id"] != "1" {
		t.Errorf("typing: %+v", calls)
	}
	if got := s.Messages(7)[0].Reaction; got != "👀" {
		t.Errorf("reaction %q", got)
	}
	if err := c.React(t.Context(), to, messageID(asked.ID), "❤\ufe0f"); err != nil || s.Messages(7)[0].Reaction != "❤" {
		t.Errorf("a heart: %v, %q", err, s.Messages(7)[0].Reaction)
	}
	if err := c.React(t.Context(), to, messageID(asked.ID), ""); err != nil {
		t.Error(err)
	}
	if got := s.Messages(7)[0].Reaction; got != "" {
		t.Errorf("reaction %q was not taken back", got)
	}
	if err := c.React(t.Context(), to, messageID(asked.ID), "no emoji"); err == nil {
		t.Error("a reaction that Telegram does not know went through")
	}
}
