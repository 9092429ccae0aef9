//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A tool that a rule or a mode of Claude Code denies, and one that people deny, is shown as not allowed. One that fails is not.
// Behaviour: verbose-denied.
func TestToolsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode   string
		edit   func(*runner)
		asks   bool
		denied bool
	}{
		"by a rule": {"", func(c *runner) { c.AllowedTools, c.DisallowedTools = nil, []string{"Bash(cat *)"} }, false, true},
		"by a mode": {"dontAsk", unallowed, false, true},
		"by people": {"", unallowed, true, true},
		"it fails":  {"", nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, tc.edit)
			r.api.Enqueue(messagesapi.Bash("cat "+filepath.Join(t.TempDir(), "nothing")+" >&2"), messagesapi.Reply{Text: "done"})
			turn, asked := r.turn("look"), 0
			turn.Profile.PermissionMode = tc.mode
			turn.Asker = askFunc(func(context.Context, agent.Question) agent.Decision {
				asked++
				return agent.Decision{Message: "no"}
			})
			got := r.run(r.pool(), turn)
			if len(got.Tools) != 1 || !got.Tools[0].Failed || got.Tools[0].Denied != tc.denied || (asked > 0) != tc.asks {
				t.Errorf("asked %d times; the turn brings %+v", asked, got.Tools)
			}
		})
	}
}
