//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// callsTool is an answer that calls a tool of the host's.
func callsTool(tool string, input map[string]any) messagesapi.Reply {
	return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "mcp__clawhost__" + tool, Input: input}}}
}

// The real claude sends a message with buttons by the tool, is given the press as a message, and edits, reacts and deletes, also
// after a kill.
// Behaviour: message-tool-change, button-agent, message-ids.
func TestMessageTool(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()

	h.api.Enqueue(
		callsTool("message", map[string]any{"text": "Tea?", "buttons": [][]string{{"Yes", "No"}}}),
		messagesapi.Reply{Text: "I have asked."},
	)
	owner.say("ask me")
	owner.hears("Tea?")
	owner.hears("I have asked.")
	h.delivered()
	h.kill()
	h.start()

	h.api.Enqueue(
		callsTool("message", map[string]any{"action": "edit", "id": "m1", "text": "Tea is coming."}),
		callsTool("message", map[string]any{"action": "react", "emoji": "👍", "id": "m1"}),
		messagesapi.Reply{Text: "Coming."},
	)
	owner.press(owner.shows("Tea?"), "Yes")
	h.asked(func(r messagesapi.Request) bool { return strings.Contains(string(r.Body), "[Pressed m1: Yes]") })
	owner.shows("Coming.")
	owner.awaits("the edited message with its reaction", func(m telegramtest.Message) bool {
		return m.Text == "Tea is coming." && len(m.Buttons) == 0 && m.Reaction == "👍"
	})

	h.api.Enqueue(callsTool("message", map[string]any{"action": "delete", "id": "m1"}), messagesapi.Reply{Text: "Gone."})
	owner.say("no more tea")
	h.asked(func(r messagesapi.Request) bool {
		return strings.Contains(string(r.Body), " id:") && strings.Contains(string(r.Body), "] no more tea")
	})
	owner.shows("Gone.")
	h.delivered()
	for _, m := range h.telegram.Replies(owner.chat) {
		if m.Text == "Tea is coming." {
			t.Errorf("the message is still there: %+v", m)
		}
	}
}
