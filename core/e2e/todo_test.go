//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// The list that Claude Code keeps by its own tools is shown while the turn works, and in /status afterwards. The next turn changes a task
// of the turn before.
// Behaviour: todo-list, todo-status.
func TestTheListOfWhatIsToDo(t *testing.T) {
	t.Parallel()
	h, owner, _ := inOfficeWith(t, setup{stream: "preview", claude: map[string]string{"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}})
	ready := make(chan struct{})
	h.api.Enqueue(
		messagesapi.Reply{Tools: []messagesapi.ToolUse{
			{Name: "TaskCreate", Input: map[string]any{"subject": "Boil water", "description": "Boil it", "activeForm": "Boiling water"}},
			{Name: "TaskCreate", Input: map[string]any{"subject": "Fetch tea", "description": "Fetch it"}},
		}},
		messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "TaskUpdate", Input: map[string]any{"taskId": "1", "status": "in_progress"}}}},
		messagesapi.Reply{Text: "It is ready.", Gates: map[int]<-chan struct{}{0: ready}},
	)
	owner.say("@claw_bot make tea")
	owner.shows("▶ Boiling water\n☐ Fetch tea")
	close(ready)
	owner.shows("It is ready.")
	h.api.Enqueue(
		messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "TaskUpdate", Input: map[string]any{"taskId": "1", "status": "completed"}}}},
		messagesapi.Reply{Text: "It was hot."},
	)
	owner.say("@claw_bot and?")
	owner.shows("It was hot.")
	owner.say("@claw_bot /status")
	owner.awaits("the list", func(m telegramtest.Message) bool {
		return strings.Contains(m.Text, "to do: 1 of 2 done") && strings.Contains(m.Text, "☑ Boil water") && strings.Contains(m.Text, "☐ Fetch tea")
	})
}
