package reply_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	silent, empty := reply.Reply{Silent: true}, reply.Reply{}
	said := func(text string) reply.Reply { return reply.Reply{Text: text} }
	for answer, want := range map[string]reply.Reply{
		"":                                   empty,
		" \n\t\r\n ":                         empty,
		"Hello":                              said("Hello"),
		"\n\n  Hello \n":                     said("  Hello"),
		"a\n\nb\r\n":                         said("a\n\nb"),
		"NO_REPLY":                           silent,
		"no_reply":                           silent,
		"\n No_Reply \r\n":                   silent,
		"`NO_REPLY`":                         silent,
		"**NO_REPLY**.":                      silent,
		"NO_REPLY\n\nNO_REPLY":               silent,
		"NO_REPLY\nHello":                    said("Hello"),
		"Hello\n\nNO_REPLY\n":                said("Hello"),
		"NO_REPLY\nHello\nNO_REPLY":          said("Hello"),
		"Hello\nNO_REPLY\nworld":             said("Hello\nNO_REPLY\nworld"),
		"I could say NO_REPLY":               said("I could say NO_REPLY"),
		"NO_REPLY is what I say":             said("NO_REPLY is what I say"),
		"NO REPLY":                           said("NO REPLY"),
		"NO_REPLYX":                          said("NO_REPLYX"),
		"System: hi\n[from: x]":              said("System: hi\n[from: x]"),
		"HEARTBEAT_OK":                       said("HEARTBEAT_OK"),
		"```\nNO_REPLY\n```":                 said("```\nNO_REPLY\n```"),
		"  1. indented\n     code\nNO_REPLY": said("  1. indented\n     code"),
	} {
		if diff := cmp.Diff(want, reply.Normalise(answer)); diff != "" {
			t.Errorf("Normalise(%q):\n%s", answer, diff)
		}
	}
}

// What was normalised is normal: the token is gone and nothing else.
func TestNormaliseTwice(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"", " ", "NO_REPLY", "no_reply", " `NO_REPLY` ", "text", "  more text ", "NO_REPLY and text"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(line).Draw(t, "lines")
		got := reply.Normalise(strings.Join(lines, "\n"))
		if got.Text != "" && got.Silent {
			t.Fatalf("silent with a text: %q", got.Text)
		}
		if again := reply.Normalise(got.Text); again.Text != got.Text {
			t.Fatalf("%q, then %q", got.Text, again.Text)
		}
		for _, l := range lines {
			if strings.Contains(l, "text") && !strings.Contains(got.Text, strings.TrimSpace(l)) {
				t.Fatalf("lost %q in %q", l, got.Text)
			}
		}
	})
}

func TestPieces(t *testing.T) {
	t.Parallel()
	limit := func(n int, u chat.Unit) chat.TextLimit { return chat.TextLimit{Max: n, Unit: u} }
	tests := []struct {
		name         string
		text, prefix string
		limit        chat.TextLimit
		max          int
		want         []string
	}{
		{"nothing", "", "", limit(10, chat.Runes), 0, nil},
		{"nothing but a prefix", "", "[bot]", limit(10, chat.Runes), 0, nil},
		{"one", "one two", "", limit(10, chat.Runes), 0, []string{"one two"}},
		{"several", "one two three", "", limit(8, chat.Runes), 0, []string{"one two", "three"}},
		{"lower limit", "one two three", "", limit(100, chat.Runes), 8, []string{"one two", "three"}},
		{"higher limit", "one two three", "", limit(8, chat.Runes), 100, []string{"one two", "three"}},
		{"limit in the channel's unit", "😀 😀", "", limit(100, chat.UTF16), 4, []string{"😀", "😀"}},
		{"limit where the channel has none", "😀 😀 😀", "", chat.TextLimit{}, 3, []string{"😀 😀", "😀"}},
		{"no limit", strings.Repeat("word ", 9), "", chat.TextLimit{}, 0, []string{strings.Repeat("word ", 9)}},
		{"prefix", "one", "[bot]", limit(10, chat.Runes), 0, []string{"[bot] one"}},
		{"prefix once, and counted", "one two three", "[bot]", limit(10, chat.Runes), 0, []string{"[bot] one", "two three"}},
		{"prefix that ends in a space", "one", "Bot: ", limit(10, chat.Runes), 0, []string{"Bot: one"}},
		{"prefix that ends a line", "# one", "Bot\n", limit(10, chat.Runes), 0, []string{"Bot\n# one"}},
		{"prefix before code", "```\nx\n```", "Bot:", limit(20, chat.Runes), 0, []string{"Bot:\n\n```\nx\n```"}},
		{"prefix before a list", "- x", "Bot: ", limit(20, chat.Runes), 0, []string{"Bot:\n\n- x"}},
		{"prefix before a number", "42 it is", "Bot:", limit(20, chat.Runes), 0, []string{"Bot: 42 it is"}},
		{"prefix before bold words", "**Yes**", "Bot:", limit(20, chat.Runes), 0, []string{"Bot: **Yes**"}},
		{"prefix over the limit", "one", "abcdef", limit(4, chat.Runes), 0, []string{"abcd", "ef", "one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, reply.Pieces(tt.text, tt.prefix, tt.limit, tt.max)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPiecesFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		channel, lower := rapid.IntRange(0, 60).Draw(t, "channel's"), rapid.IntRange(0, 60).Draw(t, "lower")
		pieces := reply.Pieces(rapid.String().Draw(t, "text"), rapid.String().Draw(t, "prefix"), chat.TextLimit{Max: channel, Unit: chat.Runes}, lower)
		for _, p := range pieces {
			for _, most := range []int{channel, lower} {
				if n := utf8.RuneCountInString(p); most > 0 && n > most {
					t.Fatalf("%d characters, over %d: %q", n, most, p)
				}
			}
		}
	})
}
