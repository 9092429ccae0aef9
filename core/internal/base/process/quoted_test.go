package process_test

import (
	"os/exec"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// The shell reads a quoted word as it was.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"": "''", "/usr/bin/claude-2.1": "/usr/bin/claude-2.1", "two words": "'two words'", "it's": `'it'\''s'`, "$(id)": "'$(id)'",
		"A=b": "'A=b'", "line\nbreak": "'line\nbreak'", "*": "'*'", "~/x": "'~/x'",
	} {
		if got := process.Quoted(word); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", word, got, want)
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+process.Quoted(word)).Output(); err != nil || string(out) != word {
			t.Errorf("the shell reads %q as %q: %v", word, out, err)
		}
	}
}
