package wording_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// nasty are texts that a question or a notice could show as something else.
var nasty = []string{
	"run `id`", "$(id)", "`", "``", "```", "````", "a```b", "```\nrm -rf ~\n```", "a ` b `` c ``` d ```` e", "'quoted' \"words\"",
	"two  spaces", "a\ttab", " led", "trailed ", " both ", "  ", "~~~\nx\n~~~", "\\`", "\\", "**bold** _x_ ~~gone~~", "<!-- hidden -->", "&lt;&#97;",
	"[here](https://example.org)", "![x](y)", "# x", "- x", "+ x", "1. x", "12) x", "> x", "---", "===", "| a |\n|---|\n| b |", "    indented", "https://example.org",
}

// shown reads a message as a network shows it: its text, and what stands in it as code.
func shown(message string) (text string, codes []string) {
	text, entities := markdown.ToEntities(message, chat.TextLimit{})
	units := utf16.Encode([]rune(text))
	for _, e := range entities {
		if e.Type == markdown.Code || e.Type == markdown.Pre {
			codes = append(codes, string(utf16.Decode(units[e.Offset:e.Offset+e.Length])))
		}
	}
	return text, codes
}

// code reports whether a message shows a text as its only code, to the character.
func code(t *rapid.T, message, text string) {
	got, codes := shown(message)
	if len(codes) != 1 || codes[0] != text {
		t.Fatalf("%q is written %q and shown as %q, with the code %q", text, message, got, codes)
	}
}

// What people decide about is shown to the character, whatever Markdown makes of it.
// Behaviour: ask-exact.
func TestWhatIsDecidedAboutIsShownAsItIs(t *testing.T) {
	t.Parallel()
	const letter = "`'\"~\\*_#<>&[]()|-+=1.: \taé👩"
	inline := rapid.OneOf(rapid.SampledFrom(nasty), rapid.StringOf(rapid.SampledFrom([]rune(letter))))
	block := rapid.OneOf(inline, rapid.StringOf(rapid.SampledFrom([]rune(letter+"\n"))))
	rapid.Check(t, func(t *rapid.T) {
		one := strings.ReplaceAll(inline.Draw(t, "one line"), "\n", "")
		if tabless := strings.ReplaceAll(one, "\t", ""); strings.TrimSpace(tabless) != "" {
			code(t, wording.Verbatim(tabless), tabless)
			code(t, wording.Disallowed(tabless, true, true), tabless)
		}
		text := strings.TrimRight(block.Draw(t, "text"), "\n")
		if strings.TrimSpace(text) != "" {
			code(t, wording.Fenced(text), text)
			code(t, wording.ServerAsks("own", text, "0123"), text)
			code(t, wording.Problem("It does not run", text, "Look."), text)
			code(t, wording.WhyNoAnswers(text), text)
			code(t, wording.WithCause("It failed.", text), text)
			code(t, wording.Question{ID: "ABCDE", About: wording.AboutTool, Tool: "Tool", Shown: text, Details: []string{}}.WithButtons(), text)
		}
		said := strings.Join(strings.Fields(one), " ")
		if got, _ := shown("Said:\n\n" + wording.Escape(said)); got != strings.TrimSpace("Said:\n\n"+said) {
			t.Fatalf("%q is written %q and shown as %q", said, wording.Escape(said), got)
		}
	})
	for _, text := range nasty {
		if got, _ := shown("Said:\n\n" + wording.Escape(strings.Join(strings.Fields(text), " "))); !strings.HasSuffix(got, strings.Join(strings.Fields(text), " ")) {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// The page that people are asked to open is shown to the character, and so is what they send.
// Behaviour: ask-exact, elicit-link.
func TestFormsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a_b_c", "*a*", "`a`", "&#97;&amp;", "[a](b)", "![a](b)", "~~a~~", "%3Cscript%3E", "a?b=c&d=e#f", "--", "$(a)", "''"} {
		link := "https://a.example/" + path
		q := wording.Question{ID: "ABCDE", About: wording.AboutForm, Form: &wording.Form{Server: "shop", Link: link, Host: "a.example"}}
		if text, _ := shown(q.WithButtons()); !strings.Contains(text, "\n"+link+"\n") {
			t.Errorf("%q is shown in %q", link, text)
		}
		q.Form = &wording.Form{Server: "shop", Sends: []wording.Sent{{Title: path, Value: path}}}
		if text, _ := shown(q.WithButtons()); !strings.Contains(text, path+": "+path) {
			t.Errorf("%q is shown in %q", path, text)
		}
	}
}

// The ID of a person who asks for access cannot pass for another one.
// Behaviour: ask-exact.
func TestIDsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	long := "tg:" + strings.Repeat("x", 150)
	seen := map[string]string{}
	for _, id := range []string{"tg:1", "tg:`1`", "tg:'1'", "tg:1 ", "tg: 1", "tg:  1", long + "1", long + "2"} {
		list := wording.Pairings([]wording.Person{{Name: "N", ID: id, Code: "ABCD2345"}})
		text, codes := shown(list)
		if len(codes) < 3 || codes[2] != id {
			t.Errorf("%q is shown as %q", id, codes)
		}
		if other, known := seen[text]; known {
			t.Errorf("%q and %q look the same", id, other)
		}
		seen[text] = id
	}
	for _, id := range []string{"tg:1\u200b", "tg:\u202e1", "tg:1\n", "tg:\t1", "tg:\u31641"} {
		if text := wording.Allowed(id); !strings.Contains(text, "\uFFFD") {
			t.Errorf("%q is shown as %q", id, text)
		}
	}
}

// Each invisible character has a sign, so that two texts that differ do not look the same.
// Behaviour: ask-exact.
func TestNoCharacterIsUnseen(t *testing.T) {
	t.Parallel()
	unseen := []rune{
		'\u00ad', '\u034f', '\u061c', '\u115f', '\u17b4', '\u180b', '\u180f', '\u200b', '\u200d', '\u202e', '\u2060', '\u2065', '\u2800', '\u3164',
		'\ufe00', '\ufe0f', '\ufeff', '\uffa0', '\U00016fe4', '\U0001d159', '\U0001d173', '\U000e0001', '\U000e0061', '\U000e0100', '\U000e01ef', '\U000e0fff',
	}
	for _, r := range unseen {
		for _, around := range []string{"rm a%sb", "rm %s", "%s", "`%[1]s`", "é%s.", "1%s", "🫖%s%[1]s"} {
			text := fmt.Sprintf(around, string(r))
			if got := wording.Visible(text); got == text || !strings.ContainsRune(got, '\ufffd') {
				t.Errorf("%+q is shown as %+q", text, got)
			}
		}
	}
	for _, text := range []string{"a\tb\nc", "e\u0301", "❤️ 👩‍⚕️ 👩🏽‍🚀 👩‍❤️‍👨 1️⃣ ⚠️", "הִנֵּה", "नमस्ते", "ไทย"} {
		if got := wording.Visible(text); got != text {
			t.Errorf("%+q is shown as %+q", text, got)
		}
	}
}
