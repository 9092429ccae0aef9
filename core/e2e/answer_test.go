//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

func TestFirstAndSecondTurnShareAProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()

	first := r.turn("my number is 4711")
	if got, want := r.run(pool, first).Text, "echo: "+first.Prompt; got != want {
		t.Errorf("first answer = %q, want %q", got, want)
	}
	if !r.started {
		t.Error("the first message was answered, but not told to be consumed")
	}
	result := r.run(pool, r.turn("which number?"))
	if !strings.HasSuffix(result.Text, "which number?") {
		t.Errorf("second answer = %q", result.Text)
	}
	if result.InputTokens == 0 || result.ContextTokens == 0 || result.ContextWindow == 0 || result.Model == "" {
		t.Errorf("the second answer has no figures: %+v", result)
	}
	if got := r.processes.count(); got != 1 {
		t.Errorf("%d processes were started for two turns, want 1", got)
	}
	r.remembers("my number is 4711")
}

func TestResumeInANewProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)

	pool := r.pool()
	r.run(pool, r.turn("my number is 4711"))
	r.close(pool)
	r.run(r.pool(), r.turn("which number?"))

	if got := r.processes.count(); got != 2 {
		t.Errorf("%d processes were started, want 2", got)
	}
	r.remembers("my number is 4711")
}

// A message that comes twice is answered once.
func TestRepeatedMessage(t *testing.T) {
	t.Parallel()
	for name, newLife := range map[string]bool{"same process": false, "new process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, nil)
			pool := r.pool()
			turn := r.turn("only once")
			first := r.run(pool, turn)
			if newLife {
				r.close(pool)
				pool = r.pool()
			}

			turn.Again = true
			again := r.run(pool, turn)
			if !again.Recovered || again.Text != first.Text {
				t.Errorf("repeated: %+v, want the recovered answer %q", again, first.Text)
			}
			if got := len(r.api.Messages()); got != 1 {
				t.Errorf("the model was asked %d times, want once: %v", got, r.api.Messages())
			}
		})
	}
}

// remembers asserts that the last request of the session holds an earlier text exactly once.
func (r *rig) remembers(text string) {
	r.Helper()
	requests := r.api.Messages()
	last := requests[len(requests)-1]
	if got := occurrences(last, text); got != 1 {
		r.Errorf("the last request holds %q %d times, want once: %q", text, got, last.Prompt.Texts())
	}
}

// occurrences counts the texts of a conversation that hold a text of a person, not as an echo.
func occurrences(request messagesapi.Request, text string) int {
	texts := slices.DeleteFunc(request.Prompt.Texts(), func(s string) bool { return strings.HasPrefix(s, "echo: ") })
	return strings.Count(strings.Join(texts, "\n"), text)
}
