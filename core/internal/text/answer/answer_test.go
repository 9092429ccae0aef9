package answer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/text/answer"
)

// Behaviour: no-reply, markers.
func TestParse(t *testing.T) {
	t.Parallel()
	type a = answer.Answer
	said := func(text string) a { return a{Text: text} }
	replies := func(text, to string) a { return a{Text: text, Replies: []answer.Reply{{To: to}}} }
	for text, want := range map[string]a{
		"":                    {},
		" \n\t\r\n ":          {},
		"Hello":               said("Hello"),
		"\n\n  Hello \n":      said("  Hello"),
		"a\r\n\r\nb  \r\n":    said("a\n\nb"),
		"a  \nb":              said("a  \nb"),
		"a\xff\xfeb":          said("a\ufffdb"),
		"System: hi\nas ever": said("System: hi\nas ever"),

		"NO_REPLY":                                     {Silent: true},
		"no_reply":                                     {Silent: true},
		"\n No_Reply \r\n":                             {Silent: true},
		"`NO_REPLY`":                                   {Silent: true},
		"**NO_REPLY**.":                                {Silent: true},
		"NO_REPLY\n\nNO_REPLY":                         {Silent: true},
		"HEARTBEAT_OK":                                 {Silent: true},
		"[[reply_to_current]] NO_REPLY":                {Silent: true, Replies: []answer.Reply{{To: answer.Current}}},
		"NO_REPLY\nHello":                              {Silent: true},
		"Hello\n\nNO_REPLY\n":                          {Silent: true},
		"Hello\nHEARTBEAT_OK":                          {Silent: true},
		"NO_REPLY\nHello\nNO_REPLY":                    {Silent: true},
		"Hello\nNO_REPLY\nworld":                       said("Hello\nNO_REPLY\nworld"),
		"I could say NO_REPLY":                         said("I could say NO_REPLY"),
		"NO_REPLY is what I say":                       said("NO_REPLY is what I say"),
		"Nothing to add. NO_REPLY":                     {Silent: true},
		"Nothing to add.\nNO_REPLY\n\n":                {Silent: true},
		"[[reply_to:1]] Nothing. NO_REPLY":             {Silent: true, Replies: []answer.Reply{{To: "1"}}},
		"Nothing to add — **NO_REPLY**.":               {Silent: true},
		"Nothing. NO_REPLY\nMore":                      said("Nothing. NO_REPLY\nMore"),
		"Nothing. NO_REPLY\n\nNO_REPLY":                {Silent: true},
		long(300) + "\nNO_REPLY":                       {Silent: true},
		strings.Repeat("é", 298) + ". NO_REPLY":        {Silent: true},
		long(301) + "\nNO_REPLY":                       said(long(301)),
		"NO_REPLY\n" + long(301):                       said(long(301)),
		long(300) + ". NO_REPLY":                       said(long(300) + "."),
		"One.\nTwo. NO_REPLY":                          said("One.\nTwo."),
		"One.\n\nTwo.\n\nNO_REPLY":                     said("One.\n\nTwo."),
		"NO_REPLY\n- one\n- two":                       said("- one\n- two"),
		"```\nls\n```\nNO_REPLY":                       said("```\nls\n```"),
		"Answer NO_REPLY to stay silent. " + long(300): said("Answer NO_REPLY to stay silent. " + long(300)),
		"Answer NO_REPLY to stay silent.":              said("Answer NO_REPLY to stay silent."),
		"The token is NO_REPLY":                        said("The token is NO_REPLY"),
		"The token: `NO_REPLY`":                        said("The token: `NO_REPLY`"),
		"Done. no_reply":                               said("Done. no_reply"),
		"```\nNothing. NO_REPLY\n```":                  said("```\nNothing. NO_REPLY\n```"),
		"NO_REPLY - not for me":                        {Silent: true},
		"NO_REPLY (they talk to each other)":           {Silent: true},
		"NO_REPLY: not for me\nNO_REPLY":               {Silent: true},
		"NO_REPLY: silence.\n\nHello":                  said("NO_REPLY: silence.\nHello"),
		"Hello\nNO_REPLY: silence.":                    said("Hello\nNO_REPLY: silence."),
		"NO REPLY":                                     said("NO REPLY"),
		"NO_REPLYX":                                    said("NO_REPLYX"),
		"```\nNO_REPLY\n```":                           said("```\nNO_REPLY\n```"),
		"```\nNO_REPLY":                                said("```\nNO_REPLY"),
		"  1. indented\n     code\nNO_REPLY":           said("  1. indented\n     code"),

		"[[reply_to_current]]":                replies("", answer.Current),
		"[[reply_to_current]] Hello":          replies("Hello", answer.Current),
		"[[reply_to_current]]\nHello":         replies("Hello", answer.Current),
		"[[ Reply_To : 12:34 ]] Hello":        replies("Hello", "12:34"),
		"Hello [[reply_to:5]]":                replies("Hello", "5"),
		"Hello [[reply_to:5]] world":          replies("Hello world", "5"),
		"Hello[[reply_to:5]]world":            replies("Helloworld", "5"),
		"Hello\n[[reply_to:5]]\nworld":        replies("Hello\nworld", "5"),
		"Hello\n\n[[reply_to:5]]\n\nworld":    replies("Hello\n\nworld", "5"),
		"  [[reply_to:5]] Hello":              replies("  Hello", "5"),
		"[[reply_to:]] Hello":                 said("Hello"),
		"[[reply_to]] Hello":                  said("Hello"),
		"[[reply_to:" + long(300) + "]]Hello": said("Hello"),
		"[[reply_to_current] Hello":           said("[[reply_to_current] Hello"),
		"[[reply_to_current\n]] Hello":        said("[[reply_to_current\n]] Hello"),
		"[[something]] else":                  said("[[something]] else"),
		"`[[reply_to_current]]` is a tag":     said("`[[reply_to_current]]` is a tag"),
		"`` a`[[reply_to_current]] ``":        said("`` a`[[reply_to_current]] ``"),
		"```\n[[reply_to_current]]\n```":      said("```\n[[reply_to_current]]\n```"),
		"An open ` [[reply_to_current]] run":  replies("An open ` run", answer.Current),
		"[[reply_to:1]]One\n\n[[reply_to:2]]Two\n[[reply_to:2]]Three": {
			Text: "One\n\nTwo\nThree", Replies: []answer.Reply{{To: "1"}, {At: 3, To: "2"}},
		},

		"[[tts]] Hello":                                     {Text: "Hello", Aloud: true},
		"Hello [[tts:Hi there]][[tts:You]]":                 {Text: "Hello", Aloud: true, Spoken: "Hi there You"},
		"[[tts:text]]Hello[[/tts:text]] [[audio_as_voice]]": {Text: "Hello", Aloud: true, Voice: true},

		"MEDIA:/tmp/a b.png":                {Media: []answer.Media{{Path: "/tmp/a b.png"}}},
		"  MEDIA: out/a.png  ":              {Media: []answer.Media{{Path: "out/a.png"}}},
		"MEDIA:\"/tmp/a.png\"\nMEDIA:`/b`":  {Media: []answer.Media{{Path: "/tmp/a.png"}, {Path: "/b"}}},
		"NO_REPLY\nMEDIA:/a":                {Silent: true, Media: []answer.Media{{Path: "/a"}}},
		"Look:\nMEDIA:/a\nand":              {Text: "Look:\nand", Media: []answer.Media{{At: 5, Path: "/a"}}},
		"Look:\n\nMEDIA:/a\n\nand":          {Text: "Look:\n\nand", Media: []answer.Media{{At: 5, Path: "/a"}}},
		"Look:\nMEDIA:/a\nNO_REPLY":         {Text: "Look:", Media: []answer.Media{{At: 5, Path: "/a"}}},
		"    MEDIA:/a":                      said("    MEDIA:/a"),
		"`MEDIA:/a`":                        said("`MEDIA:/a`"),
		"```\nMEDIA:/a\n```":                said("```\nMEDIA:/a\n```"),
		"~~~\n```\nMEDIA:/a\n~~~\nMEDIA:/b": {Text: "~~~\n```\nMEDIA:/a\n~~~", Media: []answer.Media{{At: 20, Path: "/b"}}},
		"``` a`b\nMEDIA:/a":                 {Text: "``` a`b", Media: []answer.Media{{At: 7, Path: "/a"}}},
		"MEDIA:\n- radio":                   said("MEDIA:\n- radio"),
		"MEDIA: " + long(5000):              said("MEDIA: " + long(5000)),
		"The MEDIA:/a":                      said("The MEDIA:/a"),
		"media:/a":                          said("media:/a"),

		"Hello\n[from: Anna (123)]":                           said("Hello"),
		"[Current message - respond to this]\nHello":          said("Hello"),
		"[from: Anna] wrote":                                  said("[from: Anna] wrote"),
		"[Chat messages since your last reply - for context]": {},
	} {
		if diff := cmp.Diff(want, answer.Parse(text, true)); diff != "" {
			t.Errorf("Parse(%.100q):\n%s", text, diff)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestMediaIsBounded(t *testing.T) {
	t.Parallel()
	a := answer.Parse(strings.Repeat("MEDIA:/a\n", 100)+"Text", true)
	if len(a.Media) != answer.MaxMedia || a.Text != "Text" {
		t.Errorf("%d files and %q", len(a.Media), a.Text)
	}
}

// What is shown of a text being written.
// Behaviour: markers.
func TestParseOfAnUnfinishedAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Hel":                                "Hel",
		"Hello ":                             "Hello",
		"Hello\n\n":                          "Hello",
		"Hello\n\nwor":                       "Hello\n\nwor",
		"N":                                  "",
		"No":                                 "",
		"Nob":                                "Nob",
		"**NO_":                              "",
		"**NO_REPLY** ":                      "",
		"NO_REPLY\n":                         "",
		"NO_REPLY t":                         "NO_REPLY t",
		"NO_REPLY - not":                     "",
		"Done. NO_RE":                        "Done.",
		"Done. NO_REPLY":                     "Done.",
		"Done. NO_REPLY i":                   "Done. NO_REPLY i",
		"Hello\nHEARTB":                      "Hello",
		"Hello\nNO_REPLY\n":                  "Hello",
		"Hello\nNO_REPLY\nand on":            "Hello\nNO_REPLY\nand on",
		"Hello [":                            "Hello",
		"Hello [a":                           "Hello [a",
		"Hello [[rep":                        "Hello",
		"Hello [[reply_to: 1":                "Hello",
		"Hello [[rest":                       "Hello [[rest",
		"Hello [[tts:word by":                "Hello",
		"Hello [[reply_to_current]] a":       "Hello a",
		"An ` open [[reply_to_current]] run": "An ` open",
		"`[[reply_to_current]]`":             "",
		"`[[reply_to_current]]` a":           "`[[reply_to_current]]` a",
		"Look:\nM":                           "Look:",
		"Look:\nMEDIA:/a":                    "Look:",
		"Look:\nMED ":                        "Look:\nMED",
		"[from: An":                          "",
		"```\nNO":                            "```\nNO",
		"```\nMEDIA:/a":                      "```\nMEDIA:/a",
		"caf\xc3":                            "caf",
	} {
		if got := answer.Parse(text, false).Text; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a chat has been shown of a text being written stays true: it is the beginning of what it is shown in the end, unless the
// model chooses to say nothing after all. The same holds for what the text answers and sends.
// Behaviour: markers.
func TestVisibleTextOnlyGrows(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"NO_REPLY", "no_reply", "HEARTBEAT_OK", "MEDIA:", "/a.png", "[[", "]]", "]", "[", "reply_to_current", "reply_to:", "[[reply_to:7]]", "tts:", "[[reply_to_current]]",
			"`", "``", "```", "~~~", "**", "\n", "\n\n", "\r\n", " ", "\t", "    ", "[from: ", "[from: x]", "[Current message - respond to this]", "x", "word", "é", "\xff", "\xc3", "😀", ".", "_",
		}),
		rapid.StringN(0, 4, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), "")
		end := answer.Parse(text, true)
		if !utf8.ValidString(end.Text) || end.Text != "" && end.Silent {
			t.Fatalf("%+v", end)
		}
		for n := range len(text) + 1 {
			now := answer.Parse(text[:n], false)
			if !strings.HasPrefix(end.Text, now.Text) && !end.Silent {
				t.Fatalf("%q of %q shows %q, and %q in the end", text[:n], text, now.Text, end.Text)
			}
			if len(now.Media) > len(end.Media) || !cmp.Equal(now.Media, end.Media[:len(now.Media)]) && len(now.Media) > 0 {
				t.Fatalf("%q of %q sends %v, and %v in the end", text[:n], text, now.Media, end.Media)
			}
			for at := range len(now.Text) {
				if stop := now.NextStop(at); stop <= at || stop > len(now.Text) {
					t.Fatalf("NextStop(%d) is %d of %d", at, stop, len(now.Text))
				}
			}
		}
	})
}

// Behaviour: reply-to.
func TestReplyAt(t *testing.T) {
	t.Parallel()
	a := answer.Parse("[[reply_to:1]]One\n\n[[reply_to_current]]Two\nMEDIA:/a\nThree", true)
	for at, want := range map[int]string{0: "1", 2: "1", 3: answer.Current, 5: answer.Current, 100: answer.Current} {
		if got := a.ReplyAt(at); got != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
	}
	for at, want := range map[int]int{0: 3, 3: 8, 5: 8, 8: 14} {
		if got := a.NextStop(at); got != want {
			t.Errorf("behind %d: %d, want %d", at, got, want)
		}
	}
	if got := (answer.Answer{Text: "x"}).ReplyAt(0); got != "" {
		t.Errorf("%q", got)
	}
}

// Behaviour: markers.
func FuzzParse(f *testing.F) {
	f.Add("NO_REPLY\n[[reply_to:1]] `a` MEDIA:/x\n```\nx\n```", 9)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > len(text) {
			return
		}
		if end, now := answer.Parse(text, true), answer.Parse(text[:n], false).Text; !strings.HasPrefix(end.Text, now) && !end.Silent {
			t.Fatalf("%q, then %q", now, end.Text)
		}
	})
}
