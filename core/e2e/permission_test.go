//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// content is what is in a file of the workspace, if there is one.
func (h *host) content(name string) string {
	h.Helper()
	data, err := os.ReadFile(filepath.Join(h.workspace, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Error(err)
	}
	return string(data)
}

// result waits for the result of the model's newest tool call, of so many in the conversation.
func (h *host) result(n int) string {
	h.Helper()
	results := h.asked(results(n)).Prompt.ToolResults()
	return results[n-1]
}

// What Claude may not do by itself is asked in the group, with buttons, and what an owner presses is what happens: leave for this
// once, no, which the model learns, or leave for good. No one else may press.
// Behaviour: ask, ask-who, ask-grant, preview-behind.
func TestPermissionInAGroup(t *testing.T) {
	t.Parallel()
	h, owner, anna := inOffice(t)
	n := 0
	wants := func(name string) {
		n++
		h.api.Enqueue(messagesapi.Bash("echo x >> "+name), messagesapi.Reply{Text: fmt.Sprint("turn ", n, " is over")})
		anna.say("@claw_bot write " + name)
	}
	over := func() telegramtest.Message { return owner.shows(fmt.Sprint("turn ", n, " is over")) }

	wants("once")
	question := owner.questioned("Claude asks to use Bash")
	if strings.Contains(question.Text, "outside") {
		t.Errorf("of a file in the workspace the bot writes %q", question.Text)
	}
	anna.press(question, "Once")
	owner.shows("Only an owner, or somebody named in the config for it, can answer this.")
	if got := h.content("once"); got != "" {
		t.Errorf("at a stranger's word the tool wrote %q", got)
	}
	owner.press(question, "Once")
	if answer := over(); answer.ID < question.ID {
		t.Errorf("the answer stands before the question: %+v", answer)
	}
	if got, result := h.content("once"), h.result(n); got != "x\n" || strings.Contains(result, "allowed") {
		t.Errorf("what was allowed wrote %q, and the model got %q", got, result)
	}
	if answered := owner.shows("✅ Allowed once by User1000: Bash echo x >> once"); answered.ID != question.ID || len(answered.Buttons) != 0 {
		t.Errorf("the question has become %+v", answered)
	}

	wants("never")
	owner.press(owner.questioned("Claude asks to use Bash"), "No")
	over()
	if got, result := h.content("never"), h.result(n); got != "" || result != "It was not allowed." {
		t.Errorf("what was not allowed wrote %q, and the model got %q", got, result)
	}

	wants("always")
	owner.press(owner.questioned("Claude asks to use Bash"), "Always")
	over()
	asked := len(h.telegram.Replies(office))
	wants("always")
	over()
	if got := h.content("always"); got != "x\nx\n" {
		t.Errorf("what is always allowed wrote %q", got)
	}
	if now := h.telegram.Replies(office); len(now) != asked+1 {
		t.Errorf("after leave for good the bot wrote %+v", now[asked:])
	}
}

// What Claude has the user choose is asked with a button for each choice. Whoever began the turn may press one, and an owner; the
// model learns which.
// Behaviour: ask, ask-who.
func TestChoiceInAGroup(t *testing.T) {
	t.Parallel()
	h, owner, anna := inOffice(t)
	h.api.Enqueue(choice("Which tree?", "oak", "elm"), messagesapi.Reply{Text: "it is planted"})
	owner.say("@claw_bot plant a tree")
	question := owner.questioned("Which tree?")
	anna.press(question, "oak")
	owner.shows("Only an owner, or somebody named in the config for it, can answer this.")
	owner.press(question, "elm")
	owner.shows("it is planted")
	if result := h.result(1); !strings.Contains(result, `"Which tree?"="elm"`) {
		t.Errorf("the model got %q", result)
	}

	h.api.Enqueue(choice("Which hedge?", "box", "yew"), messagesapi.Reply{Text: "it grows"})
	anna.say("@claw_bot plant a hedge")
	anna.press(owner.questioned("Which hedge?"), "yew")
	owner.shows("it grows")
	if result := h.result(2); !strings.Contains(result, `"Which hedge?"="yew"`) {
		t.Errorf("the model got %q", result)
	}
}

// A question outlives a crash of everything: what is pressed answers the same question of the turn that goes on.
// Behaviour: ask-durable.
func TestKilledWithAQuestionOpen(t *testing.T) {
	t.Parallel()
	h, owner, _ := inOffice(t)
	tea := messagesapi.Bash("echo tea >> pot")
	h.api.Enqueue(tea)
	owner.say("@claw_bot make tea")
	question := owner.questioned("Claude asks to use Bash")
	h.delivered()
	h.crash()
	h.api.Enqueue(tea, messagesapi.Reply{Text: "there is tea"})
	before := len(h.api.Messages())
	h.start()
	h.poll("the turn goes on", func() bool { return len(h.api.Messages()) > before })
	if got := h.content("pot"); got != "" {
		t.Errorf("without leave the tool wrote %q", got)
	}
	owner.press(question, "Once")
	// The CLI writes down some 100 ms later what it has read: the rest is sent again, and no answer was interrupted.
	h.poll("there is tea", func() bool {
		for _, reply := range owner.telegram.Replies(owner.chat) {
			if strings.TrimPrefix(reply.Text, continued) == "there is tea" {
				return true
			}
		}
		return false
	})
	if got := h.content("pot"); got != "tea\n" {
		t.Errorf("what was allowed wrote %q", got)
	}
	if answered := owner.shows("✅ Allowed once by User1000: Bash echo tea >> pot"); answered.ID != question.ID || len(answered.Buttons) != 0 {
		t.Errorf("the question, message %d, has become %+v", question.ID, answered)
	}
}

// A host that is killed alone leaves a Claude that takes its end for a no and goes on. What it has said when the host is back is
// the answer, and the question is over: what was pressed meanwhile has no effect, and the person learns it.
// Behaviour: ask-durable.
func TestHostKilledWithAQuestionOpen(t *testing.T) {
	t.Parallel()
	h, owner, _ := inOffice(t)
	h.api.Enqueue(messagesapi.Bash("echo tea >> pot"), messagesapi.Reply{Text: "no tea then"})
	owner.say("@claw_bot make tea")
	question := owner.questioned("Claude asks to use Bash")
	h.delivered()
	h.kill()
	h.poll("claude ends", func() bool { return len(h.claudes()) == 0 })
	owner.press(question, "Once")
	h.start()
	owner.shows("no tea then")
	over := owner.awaits("that the question is over", func(m telegramtest.Message) bool {
		return m.ID == question.ID && strings.HasSuffix(m.Text, ": Bash echo tea >> pot") && len(m.Buttons) == 0 &&
			(strings.HasPrefix(m.Text, "This question is closed") || strings.HasPrefix(m.Text, "This answer came too late, Claude had gone on without it"))
	})
	if got := h.content("pot"); got != "" {
		t.Errorf("the question has become %q, and the tool wrote %q", over.Text, got)
	}
}
