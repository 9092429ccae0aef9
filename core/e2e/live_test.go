//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// In a private chat an answer grows in Telegram's own draft, which the message takes the place of. The draft's button stops it.
// Behaviour: stream.
func TestAnAnswerGrowsInADraft(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{stream: "preview"})
	h.start()
	owner := h.owner()
	draft := func(text string) {
		if d, err := h.telegram.AwaitDraft(h.ctx, owner.chat, func(d telegramtest.Draft) bool { return d.Text == text }); err != nil || !d.CanStop {
			t.Errorf("the draft is %+v, %v, want %q and a button", d, err, text)
		}
	}
	begun, half := make(chan struct{}), make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "one two three four", Gates: map[int]<-chan struct{}{1: begun, 2: half}})
	owner.say("count")
	draft("one")
	close(begun)
	draft("one two") // the rest is not written yet
	close(half)
	owner.hears("one two three four")
	if d, shown := h.telegram.Draft(owner.chat); shown {
		t.Errorf("beside the answer there is the draft %+v", d)
	}

	h.api.Enqueue(messagesapi.Reply{Text: "five six", Hang: new(1)})
	owner.say("go on")
	draft("five")
	owner.user.Stop()
	owner.hears("five")
	owner.hears("Stopped.")
	owner.silent()
}

// Where answers come in blocks, what is written is sent while the rest is not, and once.
// Behaviour: block.
func TestAnAnswerComesInBlocks(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{stream: "block"})
	h.start()
	owner := h.owner()
	const words = 180
	first, second := make(chan struct{}), make(chan struct{})
	paragraph := strings.Repeat("word ", words) + "end."
	h.api.Enqueue(messagesapi.Reply{
		Text: paragraph + "\n\nThe rest of it.", Gates: map[int]<-chan struct{}{0: first, words + 1: second},
	})
	owner.say("tell me")
	close(first)
	owner.hears(paragraph)
	close(second)
	owner.hears("The rest of it.")
	owner.talks("is that all?")
	h.remembers("tell me")
	owner.silent()
}

// The agent uses the tools of the host and of plugins without approval: it writes to another chat, and reads the results.
// Behaviour: tools, message-tool.
func TestToolsInAChat(t *testing.T) {
	t.Parallel()
	h, _, anna := inOfficeWith(t, setup{plugins: "plugin \"todo\" {}"})
	owner := h.owner()
	anna.say("@claw_bot hello")
	anna.next()
	h.api.Enqueue(messagesapi.Reply{Tools: []messagesapi.ToolUse{
		{Name: "mcp__clawhost__message", Input: map[string]any{"to": "telegram:-1001", "text": "Dinner is ready."}},
		{Name: "mcp__clawhost__todo_add", Input: map[string]any{"text": "wash up"}},
		{Name: "mcp__clawhost__todo_add", Input: map[string]any{"text": " "}},
	}}, messagesapi.Reply{Text: "They know."})
	owner.say("call them")
	owner.hears("They know.")
	anna.hears("Dinner is ready.")
	results := h.asked(results(3)).Prompt.ToolResults()
	if results[1] != "1. wash up\n" || !strings.Contains(results[2], "the text is empty") {
		t.Errorf("the model got %q", results)
	}
	anna.silent()
	owner.silent()
}
