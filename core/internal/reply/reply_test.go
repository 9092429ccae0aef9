package reply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
