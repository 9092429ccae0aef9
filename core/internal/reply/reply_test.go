package reply_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/reply"
)

// Behaviour: prefix.
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
