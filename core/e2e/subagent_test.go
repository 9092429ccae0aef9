//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A subagent is listed with what it does, and stopped by its number. The turn goes on, and Claude knows.
func TestSubagentIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	seconds := unheardOf()
	r.api.Enqueue(
		messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "Agent", Input: map[string]any{
			"description": "Count the beans", "prompt": "count them", "subagent_type": "general-purpose",
		}}}},
		messagesapi.Bash("sleep "+seconds),
		messagesapi.Reply{Text: "without the beans"},
	)
	attempt := r.begin(r.ctx, pool, r.turn("how many beans?"))
	r.poll("the subagent sleeps", func() bool { return sleeping(seconds) > 0 })
	list := pool.Tasks(r.session)
	if len(list) != 1 || list[0].What != "Count the beans" || list[0].Agent != "general-purpose" || !strings.Contains(list[0].Doing, "sleep") {
		t.Fatalf("%+v runs", list)
	}
	if _, err := pool.StopTask(r.ctx, r.session, list[0].Number); err != nil {
		t.Fatal(err)
	}
	<-attempt.done
	if attempt.err != nil || attempt.result.Text != "without the beans" {
		t.Errorf("answer %q, %v", attempt.result.Text, attempt.err)
	}
	r.poll("the subagent's process has ended", func() bool { return sleeping(seconds) == 0 }) // the CLI does not wait for it
	if list := pool.Tasks(r.session); len(list) != 0 {
		t.Errorf("%+v is left", list)
	}
}
