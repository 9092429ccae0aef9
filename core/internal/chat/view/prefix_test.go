package view

import (
	"testing"
)

// Behaviour: prefix.
func TestPrefix(t *testing.T) {
	t.Parallel()
	s := speaker{Model: "opus", Name: "Claw", Channel: "telegram"}
	for template, want := range map[string]string{
		"[{model}] ":                    "[opus] ",
		"{provider}: {modelFull}":       "anthropic: anthropic/opus",
		"{name} {identity.name} {Name}": "Claw Claw Claw",
		"{identityName} on {channel}":   "Claw on telegram",
		"{think} {thinkingLevel} {it}":  "{think} {thinkingLevel} {it}",
	} {
		if got := prefix(template, s); got != want {
			t.Errorf("%q: %q, want %q", template, got, want)
		}
	}
	if got := prefix("{model}{modelFull}{think}", speaker{Effort: "high"}); got != "{model}{modelFull}high" {
		t.Errorf("%q", got)
	}
}
