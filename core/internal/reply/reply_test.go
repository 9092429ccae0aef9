package reply_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestRule(t *testing.T) {
	t.Parallel()
	limit := chat.TextLimit{Max: 4096, Unit: chat.UTF16}
	for _, tt := range []struct {
		limit    chat.TextLimit
		settings config.Reply
		want     chunk.Rule
	}{
		{limit, config.Reply{ChunkMode: "length"}, chunk.Rule{Limit: limit}},
		{limit, config.Reply{TextLimit: 1000, MaxLines: 17, ChunkMode: "newline"}, chunk.Rule{Limit: chat.TextLimit{Max: 1000, Unit: chat.UTF16}, Lines: 17, Paragraphs: true}},
		{limit, config.Reply{TextLimit: 5000}, chunk.Rule{Limit: limit}},
		{chat.TextLimit{}, config.Reply{TextLimit: 5000}, chunk.Rule{Limit: chat.TextLimit{Max: 5000, Unit: chat.Runes}}},
	} {
		if diff := cmp.Diff(tt.want, reply.Rule(tt.limit, tt.settings)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	s := reply.Speaker{Model: "opus", Name: "Claw", Channel: "telegram"}
	for template, want := range map[string]string{
		"[{model}] ":                    "[opus] ",
		"{provider}: {modelFull}":       "anthropic: anthropic/opus",
		"{name} {identity.name} {Name}": "Claw Claw Claw",
		"{identityName} on {channel}":   "Claw on telegram",
		"{think} {thinkingLevel} {it}":  "{think} {thinkingLevel} {it}",
	} {
		if got := reply.Prefix(template, s); got != want {
			t.Errorf("%q: %q, want %q", template, got, want)
		}
	}
	if got := reply.Prefix("{model}{modelFull}{think}", reply.Speaker{Effort: "high"}); got != "{model}{modelFull}high" {
		t.Errorf("%q", got)
	}
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
