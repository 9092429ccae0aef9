//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// office is a group.
const office = -1001

// inOffice starts a host that shows in a group what is written, where the owner and Anna, who is a stranger, sit.
func inOffice(t *testing.T) (h *host, owner, anna *conversation) {
	t.Helper()
	return inOfficeWith(t, setup{stream: "preview"})
}

func inOfficeWith(t *testing.T, s setup) (h *host, owner, anna *conversation) {
	t.Helper()
	s.access = fmt.Sprintf(`
  owners = ["telegram:%d"]
  group "%d" {}`, ownerID, office)
	h = newHost(t, s)
	h.telegram.Group(office, "The Office")
	h.start()
	owner, anna = h.owner(), &conversation{host: h, user: h.telegram.User(2000), chat: office}
	owner.chat = office
	return h, owner, anna
}

// In a group an answer is a message that grows while it is written. The whole answer takes its place, or what was written till
// it was stopped.
// Behaviour: stream, preview-left.
func TestAnAnswerGrowsInAGroup(t *testing.T) {
	t.Parallel()
	h, owner, _ := inOffice(t)
	begun, half := make(chan struct{}), make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "one two three four", Gates: map[int]<-chan struct{}{1: begun, 2: half}})
	owner.say("@claw_bot count")
	shown := owner.shows("one")
	close(begun)
	edited := owner.shows("one two") // the rest is not written yet
	if edited.ID != shown.ID || edited.Edits == 0 || len(edited.Buttons) != 1 {
		t.Errorf("half of the answer is shown by %+v, want an edit of message %d, with a button", edited, shown.ID)
	}
	close(half)
	final := owner.shows("one two three four")
	if final.ID != shown.ID || len(final.Buttons) != 0 {
		t.Errorf("the answer is %+v, want an edit of message %d, with no button", final, shown.ID)
	}
	owner.read = 1
	owner.silent()

	h.api.Enqueue(messagesapi.Reply{Text: "five six", Hang: new(1)})
	owner.say("@claw_bot go on")
	owner.press(owner.shows("five"), "Stop")
	owner.shows("Stopped.")
	if stopped := owner.shows("five"); len(stopped.Buttons) != 0 {
		t.Errorf("what was stopped still has buttons: %+v", stopped)
	}
	owner.read = 3
	owner.silent()
	if n := len(h.telegram.Calls("sendMessage")); n != 3 {
		t.Errorf("%d messages were sent, want 3", n)
	}
}

// What the model's stream has brought before it was cut, or refused, goes from the chat again.
// Behaviour: answer-restarted.
func TestWhatIsTakenBackGoesFromAGroup(t *testing.T) {
	t.Parallel()
	h, owner, _ := inOffice(t)
	seen := make(chan struct{})
	h.api.Enqueue(
		messagesapi.Reply{Text: "one two three", Gates: map[int]<-chan struct{}{1: seen}, Cut: new(2)},
		messagesapi.Reply{Text: "four five"},
	)
	owner.say("@claw_bot count")
	shown := owner.shows("one")
	close(seen)
	if final := owner.shows("four five"); final.ID != shown.ID || len(final.Buttons) != 0 {
		t.Errorf("the answer is %+v, want an edit of message %d, with no button", final, shown.ID)
	}

	seen = make(chan struct{})
	refused := messagesapi.Refusal("I will not")
	refused.Gates = map[int]<-chan struct{}{1: seen}
	h.api.Enqueue(refused, messagesapi.Refusal("I will not"))
	owner.say("@claw_bot misbehave")
	shown = owner.shows("I")
	close(seen)
	trouble := owner.awaits("that it is declined", func(m telegramtest.Message) bool { return strings.HasPrefix(m.Text, "Claude declined to answer this.") })
	if trouble.ID != shown.ID || len(trouble.Buttons) != 0 {
		t.Errorf("the refusal is %+v, want an edit of message %d, with no button", trouble, shown.ID)
	}
	owner.read = 2
	owner.silent()
}

// An answer that grows while the host is killed is there once, in the message that it grew in.
// Behaviour: answer-once.
func TestHostKilledWhileAnAnswerGrows(t *testing.T) {
	t.Parallel()
	h, owner, _ := inOffice(t)
	seen := make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "one two three", Gates: map[int]<-chan struct{}{1: seen}})
	owner.say("@claw_bot count")
	shown := owner.shows("one")
	h.delivered()
	h.kill()
	close(seen)
	h.poll("claude ends", func() bool { return len(h.claudes()) == 0 }) // it ends its turn
	h.start()
	if final := owner.shows("one two three"); final.ID != shown.ID || len(final.Buttons) != 0 {
		t.Errorf("the answer is %+v, want an edit of message %d, with no button", final, shown.ID)
	}
	owner.read = 1
	owner.silent()
	if n := len(h.api.Messages()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
}
