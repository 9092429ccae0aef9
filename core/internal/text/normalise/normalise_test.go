package normalise

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// self mentions the agent in a range of a text.
func self(offset, length int) chat.Mention {
	return chat.Mention{Offset: offset, Length: length, IsSelf: true}
}

// mentioning marks every "@bot" in a text as a mention of the agent.
func mentioning(text string) chat.Message {
	m := chat.Message{Text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], "@bot")
		if i < 0 {
			return m
		}
		m.Mentions = append(m.Mentions, self(at+i, len("@bot")))
		at += i + len("@bot")
	}
}

// Behaviour: text-normalised, text-versions, text-mentions.
func TestEventText(t *testing.T) {
	t.Parallel()
	england := "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
	tests := []struct {
		name string
		body chat.Message
		text string
		raw  string // empty: as the text
	}{
		{"plain", chat.Message{Text: "hello"}, "hello", ""},
		{"line breaks", chat.Message{Text: "a\r\nb\rc\n\r\nd"}, "a\nb\nc\n\nd", "a\r\nb\rc\n\r\nd"},
		{"a backslash and an n", chat.Message{Text: `print("a\nb") C:\new`}, `print("a\nb") C:\new`, ""},
		{"what cannot be seen", chat.Message{Text: "\u200b\ufeff \n hi\u2060 \u200e\n"}, "hi", "\u200b\ufeff \n hi\u2060 \u200e\n"},
		{"spaces within", chat.Message{Text: "a  \n  b\u200bc"}, "a  \n  b\u200bc", ""},
		{"emoji at the end", chat.Message{Text: "👨‍👩‍👧 ❤️"}, "👨‍👩‍👧 ❤️", ""},
		{"a flag at the end", chat.Message{Text: england}, england, ""},

		{"mention at the beginning", mentioning("@bot what now?"), "what now?", "@bot what now?"},
		{"mention before a command", mentioning("@bot /status"), "/status", "@bot /status"},
		{"mention with a colon", mentioning("@bot: /status"), "/status", "@bot: /status"},
		{"mention with a comma", mentioning(" @bot, do it"), "do it", " @bot, do it"},
		{"mention with a face", mentioning("@bot :)"), ":)", "@bot :)"},
		{"mention with an emoji's name", mentioning("@bot :wave: hi"), ":wave: hi", "@bot :wave: hi"},
		{"mention in the middle", mentioning("hey @bot what now?"), "hey what now?", "hey @bot what now?"},
		{"mention between many spaces", mentioning("hey \t @bot   what now?"), "hey what now?", "hey \t @bot   what now?"},
		{"mention without spaces", mentioning("a@botb"), "ab", "a@botb"},
		{"mention at the end", mentioning("what now @bot"), "what now", "what now @bot"},
		{"mention before a mark", mentioning("thanks @bot!"), "thanks!", "thanks @bot!"},
		{"mention before a face", mentioning("thanks @bot :)"), "thanks :)", "thanks @bot :)"},
		{"mention on a line", mentioning("a\n@bot b\r\nc @bot\nd"), "a\nb\nc\nd", "a\n@bot b\r\nc @bot\nd"},
		{"mention on a line of its own", mentioning("a\n@bot\nb"), "a\n\nb", "a\n@bot\nb"},
		{"mentions side by side", mentioning("hey @bot @bot@bot now"), "hey now", "hey @bot @bot@bot now"},
		{"mentions without a space", mentioning("hey @bot@botnow"), "hey now", "hey @bot@botnow"},
		{"mention alone", mentioning(" @bot "), "@bot", " @bot "},
		{"command with a name", chat.Message{Text: "try /status@bot now", Mentions: []chat.Mention{self(4, 11)}}, "try /status now", "try /status@bot now"},
		{"another one's mention", chat.Message{Text: "@anna hi", Mentions: []chat.Mention{{Length: 5}}}, "@anna hi", ""},
		{"mention out of order", chat.Message{Text: "@bot a @bot", Mentions: []chat.Mention{self(7, 4), self(0, 4)}}, "a", "@bot a @bot"},
		{"mention twice", chat.Message{Text: "@bot a", Mentions: []chat.Mention{self(0, 4), self(0, 4)}}, "a", "@bot a"},
		{"mentions that overlap", chat.Message{Text: "@bot a", Mentions: []chat.Mention{self(0, 4), self(2, 4)}}, "a", "@bot a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, ok := Event("tg", chat.Event{Chat: chat.Chat{ID: "1", Kind: chat.Group}, Body: tt.body})
			if !ok || m.Text != tt.text || m.Raw != tt.raw {
				t.Errorf("%q, raw %q, %v; want %q, %q", m.Text, m.Raw, ok, tt.text, tt.raw)
			}
		})
	}
}

// Behaviour: accept-no-turn, file-quoted.
func TestEvent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 15, 14, 30, 0, 0, time.UTC)
	direct := chat.Chat{ID: "7", Kind: chat.Direct}
	john := chat.Sender{ID: "7", DisplayName: "John", Aliases: []chat.UserID{"49"}}
	tests := []struct {
		name  string
		event chat.Event
		want  *domain.Message // nil: nothing for the agent
	}{
		{
			"all of a message",
			chat.Event{ID: "e", Chat: direct, Thread: "t", Sender: john, At: at, Body: chat.Message{
				ID: "m", Text: "yes\r\n", Media: []chat.Media{{Ref: "r", Kind: chat.Image, FileName: "a.jpg"}},
				ReplyTo: &chat.Quote{ID: "q", SenderName: "Anna", Text: "ok?\r\n", Media: []chat.Media{{Ref: "s", Problem: "odd"}}}, Forwarded: &chat.Forward{From: "Mo", At: at}, ThreadStarter: "\rbread ",
			}},
			&domain.Message{
				Channel: "tg", Chat: direct, Thread: "t", ID: "m", Sender: john, SentAt: at, Text: "yes", Raw: "yes\r\n",
				Media:   []chat.Media{{Ref: "r", Kind: chat.Image, FileName: "a.jpg"}},
				ReplyTo: &chat.Quote{ID: "q", SenderName: "Anna", Text: "ok?", Media: []chat.Media{{Ref: "s"}}}, Forwarded: &chat.Forward{From: "Mo", At: at}, Starter: "bread",
			},
		},
		{
			"a picture alone",
			chat.Event{Chat: direct, Sender: john, Body: chat.Message{Media: []chat.Media{{Kind: chat.Image}}}},
			&domain.Message{Channel: "tg", Chat: direct, Sender: john, Media: []chat.Media{{Kind: chat.Image}}},
		},
		{
			"a command from a menu",
			chat.Event{Chat: direct, Sender: john, Body: chat.NativeCommand{Name: "Think", Args: " high\r\nwhy? "}},
			&domain.Message{Channel: "tg", Chat: direct, Sender: john, Text: "/think high\nwhy?", Command: &domain.Command{Name: "think", Args: "high\nwhy?"}},
		},
		{
			"a stop",
			chat.Event{Chat: direct, Sender: john, Body: chat.StopRequest{}},
			&domain.Message{Channel: "tg", Chat: direct, Sender: john, Text: "/stop", Command: &domain.Command{Name: "stop"}},
		},
		{"nothing", chat.Event{Chat: direct, Body: chat.Message{}}, nil},
		{"nothing that can be seen", chat.Event{Chat: direct, Body: chat.Message{Text: " \u200b\u3164\r\n"}}, nil},
		{"an edit", chat.Event{Chat: direct, Body: chat.Edited{Text: "hi"}}, nil},
		{"a reaction", chat.Event{Chat: direct, Body: chat.Reaction{Emoji: "👍"}}, nil},
		{"no body", chat.Event{Chat: direct}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Event("tg", tt.event)
			want := domain.Message{}
			if tt.want != nil {
				want = *tt.want
			}
			if diff := cmp.Diff(want, got); diff != "" || ok != (tt.want != nil) {
				t.Errorf("%v:\n%s", ok, diff)
			}
		})
	}
}

// A change of the event changes nothing in its message.
// Behaviour: message-bounded.
func TestAMessageKeepsNothingOfItsEvent(t *testing.T) {
	t.Parallel()
	body := chat.Message{Text: "hi", Media: []chat.Media{{Ref: "a"}}, ReplyTo: &chat.Quote{Text: "q"}, Forwarded: &chat.Forward{From: "f"}}
	e := chat.Event{Chat: chat.Chat{ID: "1", Kind: chat.Direct}, Sender: chat.Sender{ID: "1", Aliases: []chat.UserID{"2"}}, Body: body}
	want, _ := Event("tg", e)
	got, _ := Event("tg", e)
	body.Media[0].Ref, body.ReplyTo.Text, body.Forwarded.From, e.Sender.Aliases[0] = "x", "x", "x", "x"
	if got.Media[0].Ref != "a" || got.ReplyTo.Text != "q" || got.Forwarded.From != "f" || got.Sender.Aliases[0] != "2" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// checkFinal reports whether a message is fit to be kept.
func checkFinal(t interface{ Errorf(string, ...any) }, m domain.Message, body chat.Message) {
	if m.Authority != 0 {
		t.Errorf("authority %v", m.Authority)
	}
	if !utf8.ValidString(m.Text) || !utf8.ValidString(m.Raw) || strings.Contains(m.Text, "\r") || trim(m.Text) != m.Text {
		t.Errorf("text %q, raw %q", m.Text, m.Raw)
	}
	if written := body.Text; m.Raw != "" && m.Raw != written || m.Raw == "" && m.Text != written {
		t.Errorf("text %q, raw %q, written %q", m.Text, m.Raw, written)
	}
}

// Behaviour: text-normalised.
func FuzzEvent(f *testing.F) {
	f.Add("@bot /status", 0, 4, 0, 4, false)
	f.Add("hey é@bot\r\n@bot", 6, 4, 12, 4, false)
	f.Add("[Dec 4 17:35] /x", -1, 1<<62, 1<<62, 1, true)
	f.Add("a\xff\u200b", 1, 1, 0, 9, false)
	f.Fuzz(func(t *testing.T, text string, offset, length, offset2, length2 int, forwarded bool) {
		body := chat.Message{Text: text, Mentions: []chat.Mention{self(offset, length), self(offset2, length2)}, ReplyTo: &chat.Quote{SenderName: text, Text: text}, ThreadStarter: text}
		if forwarded {
			body.Forwarded = &chat.Forward{From: text}
		}
		body, err := wire.MessageFromProto(wire.MessageToProto(body))
		if err != nil {
			t.Skip()
		}
		e := chat.Event{Chat: chat.Chat{ID: "1", Kind: chat.Group, Title: text}, Sender: chat.Sender{ID: "2", DisplayName: text}, Body: body}
		if m, ok := Event("tg", e); ok {
			checkFinal(t, m, body)
		} else if m.Text != "" {
			t.Errorf("%+v is not for the agent", m)
		}
	})
}

// However mentions lie, nothing but them and the spaces and one mark around them is lost.
// Behaviour: text-mentions.
func TestWithoutSelfLosesMentionsOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"@bot", "a", "é", " ", "  ", "\n", "!", "/x", "😀"}), 0, 12).Draw(t, "words")
		text := strings.Join(words, "")
		m := mentioning(text)
		m.Mentions = rapid.Permutation(m.Mentions).Draw(t, "mentions")
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		got := withoutSelf(text, m.Mentions)
		if want := squeeze(strings.ReplaceAll(text, "@bot", "")); squeeze(got) != want {
			t.Fatalf("%q became %q, want %q but for spaces", text, got, want)
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// What a channel says of files is used as far as it makes sense. The agent's own files cannot be fetched.
// Behaviour: file-fetch, file-quoted.
func TestTokensOfFiles(t *testing.T) {
	t.Parallel()
	given := []chat.Media{{Token: "t"}, {Ref: "r", Token: "t", Problem: "odd"}, {Token: "t", Problem: "is too large"}}
	for _, own := range []bool{false, true} {
		m, ok := Event("tg", chat.Event{
			Chat: chat.Chat{ID: "7", Kind: chat.Direct}, Sender: chat.Sender{ID: "7"},
			Body: chat.Message{Media: given, ReplyTo: &chat.Quote{IsSelf: own, Media: given}},
		})
		want := []chat.Media{{Token: "t"}, {Ref: "r"}, {Problem: "is too large"}}
		if !ok || !slices.Equal(m.Media, want) {
			t.Errorf("the files are %+v", m.Media)
		}
		if own {
			want = slices.Repeat([]chat.Media{{Problem: "was sent by you"}}, 3)
		}
		if !slices.Equal(m.ReplyTo.Media, want) {
			t.Errorf("the quoted files are %+v, the agent's own: %t", m.ReplyTo.Media, own)
		}
	}
	if given[0].Token != "t" || given[1].Token != "t" {
		t.Error("the event was changed")
	}
}
