package answer_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: prefix.
func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"model": "opus", "identity.name": "Claw", "think": ""}
	for prefix, want := range map[string]string{
		"":                        "",
		"[{model}]":               "[opus]",
		"{Identity.Name}/{MODEL}": "Claw/opus",
		"{think} {other} {}":      "{think} {other} {}",
		"{{model}}":               "{opus}",
	} {
		if got := answer.Expand(prefix, values); got != want {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}

// Behaviour: prefix.
func TestWithPrefix(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ prefix, text, want string }{
		{"", "one", "one"},
		{"[bot]", "one", "[bot] one"},
		{"Bot: ", "one", "Bot: one"},
		{"Bot\n", "# one", "Bot\n# one"},
		{"Bot:", "```\nx\n```", "Bot:\n\n```\nx\n```"},
		{"Bot: ", "- x", "Bot:\n\n- x"},
		{"Bot:", "42 it is", "Bot: 42 it is"},
		{"Bot:", "**Yes**", "Bot: **Yes**"},
	} {
		if got := answer.WithPrefix(tt.prefix, tt.text); got != tt.want {
			t.Errorf("%q before %q: %q, want %q", tt.prefix, tt.text, got, tt.want)
		}
	}
}

// Behaviour: reply-to.
func TestTarget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode, to string
		first    bool
		want     chat.MessageID
	}{
		{"off", "", true, ""},
		{"off", answer.Current, false, "m1"},
		{"off", "m2", false, "m2"},
		{"first", "", true, "m1"},
		{"first", "", false, ""},
		{"first", "m2", true, "m2"},
		{"all", "", false, "m1"},
		{"all", "m2", false, "m2"},
		{"", "m2", true, ""},
		{"", answer.Current, true, ""},
	} {
		if got := (answer.Quoting{Mode: tt.mode, Current: "m1"}).Target(tt.to, tt.first); got != tt.want {
			t.Errorf("%s, %q, first %t: %q, want %q", tt.mode, tt.to, tt.first, got, tt.want)
		}
	}
}
