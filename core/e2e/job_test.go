//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

func job(input map[string]any) messagesapi.Reply {
	return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "mcp__clawhost__jobs", Input: input}}}
}

// The CLI asks about a job although the host's tools are allowed, and the end of the job is a turn of the same conversation.
// Behaviour: jobs, jobs-asked, jobs-told.
func TestJob(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()

	h.api.Enqueue(job(map[string]any{"action": "run", "command": "touch never"}), messagesapi.Reply{Text: "then not"})
	owner.say("build it")
	owner.press(owner.questioned("Claude asks to use Job"), "No")
	owner.shows("then not")
	if result := h.result(1); result != "It was not allowed." {
		t.Errorf("the model got %q", result)
	}

	h.api.Enqueue(
		job(map[string]any{"action": "run", "command": "echo built; exit 4", "title": "Build"}), messagesapi.Reply{Text: "it runs"},
		messagesapi.Reply{Text: "the build failed"},
	)
	owner.say("do build it")
	owner.press(owner.questioned("Claude asks to use Job"), "Once")
	owner.shows("it runs")
	owner.shows("the build failed")
	said := h.last().Prompt.LastUserText()
	if !strings.Contains(said, "Job 1 (Build), which was started from this chat, has failed after") || !strings.Contains(said, "with exit code 4") ||
		!strings.Contains(said, "built") {
		t.Errorf("the model reads %q", said)
	}

	h.api.Enqueue(job(map[string]any{"action": "read", "job": 1}), messagesapi.Reply{Text: "that is all"})
	owner.say("what did it print?")
	owner.shows("that is all")
	if result := h.result(3); !strings.Contains(result, "Job 1: exited with code 4") || !strings.HasSuffix(result, "\nbuilt\n") {
		t.Errorf("the model got %q", result)
	}
	if got := h.content("never"); got != "" {
		t.Errorf("a job that was not allowed wrote %q", got)
	}
}

// Without approvals, nobody is asked.
// Behaviour: jobs-asked.
func TestJobWithoutApproval(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{limits: `permission_mode = "bypassPermissions"`, claude: map[string]string{"IS_SANDBOX": "1"}})
	h.start()
	owner := h.owner()
	h.api.Enqueue(job(map[string]any{"action": "run", "command": "echo x >made"}), messagesapi.Reply{Text: "it runs"}, messagesapi.Reply{Text: "it has run"})
	owner.say("make it")
	owner.shows("it has run")
	if got := h.content("made"); got != "x\n" {
		t.Errorf("the job wrote %q", got)
	}
}
