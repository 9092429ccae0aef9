//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// While a tool runs the host answers, and /stop ends the tool before it says so.
func TestStop(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{tools: []string{"Bash"}})
	h.start()
	owner := h.owner()
	seconds := unheardOf()
	h.api.Enqueue(messagesapi.Bash("sleep " + seconds))

	owner.say("wait for it")
	h.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
	owner.say("/status")
	if got := owner.next().Text; !strings.Contains(got, "running for ") || !strings.Contains(got, "0 waiting") {
		t.Errorf("/status while a tool runs: %q", got)
	}
	owner.say("/help")
	if got := owner.next().Text; !strings.Contains(got, "/stop") || !strings.Contains(got, "/new") {
		t.Errorf("/help while a tool runs: %q", got)
	}
	owner.say("/stop")
	owner.hears("Stopped.")
	if n := sleeping(seconds); n != 0 {
		t.Errorf("%d processes of the tool live when the chat learns that it was stopped", n)
	}

	owner.talks("still there?")
	h.remembers("wait for it", "still there?")
	owner.say("/stop")
	owner.hears("Nothing is running.")
	owner.silent()
}

// From a /stop in the chat to the end of the last process of a tool is not long, whatever processes the tool has started. How long
// is shown; it is bounded far above what was measured, and far below what any process of the tool would live for.
// Behaviour: stop.
func TestStopInTime(t *testing.T) {
	t.Parallel()
	const most = time.Second
	h := newHost(t, setup{tools: []string{"Bash"}})
	h.start()
	owner := h.owner()
	var took []time.Duration
	for _, tool := range []struct {
		command   string
		processes int
	}{
		{"sleep %s", 1},
		{"(sleep %s & sleep %s & wait) & sleep %s", 3},
		{"setsid sleep %s & (setsid sleep %s &) ; sleep %s", 3},
		{"trap '' TERM INT HUP; sleep %s & sleep %s & wait", 2},
		{"(env -i setsid sleep %s & wait) & nohup sleep %s & wait", 2},
	} {
		seconds := unheardOf()
		h.api.Enqueue(messagesapi.Bash(strings.ReplaceAll(tool.command, "%s", seconds)))
		owner.say("wait for it")
		h.poll("the tool sleeps", func() bool { return sleeping(seconds) == tool.processes })
		began := time.Now()
		owner.say("/stop")
		h.poll("the tool ends", func() bool { return sleeping(seconds) == 0 })
		took = append(took, time.Since(began))
		owner.hears("Stopped.")
	}
	t.Logf("from /stop to the end of the tool's processes: %v", took)
	slices.Sort(took)
	if median := took[len(took)/2]; median > most {
		t.Errorf("it takes %v until a tool has ended", median)
	}
}

// What waits behind a turn is answered after it, in order, and dropped by /stop.
func TestWaitingMessages(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()
	gate := make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "the first is done", Gate: gate})
	owner.say("number 1")
	h.asked(asks("number 1"))
	for n := 2; n <= 4; n++ {
		owner.say(fmt.Sprintf("number %d", n))
	}
	owner.say("/status")
	if got := owner.next().Text; !strings.Contains(got, "3 waiting") {
		t.Errorf("/status: %q, want three waiting", got)
	}
	close(gate)
	owner.hears("the first is done")
	for n := 2; n <= 4; n++ {
		owner.echoes(fmt.Sprintf("number %d", n))
	}

	h.api.Enqueue(messagesapi.Reply{Text: "never", Hang: new(0)})
	owner.say("number 5")
	h.asked(asks("number 5"))
	owner.say("number 6")
	owner.say("/stop")
	owner.hears("Stopped. One waiting message was dropped.")
	owner.talks("number 7")
	h.forgot("number 6")
	owner.silent()
}

func TestNewConversation(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()
	owner.talks("my number is 4711")
	owner.say("/new")
	owner.hears("New conversation.")
	owner.talks("which number?")
	h.forgot("my number is 4711")

	owner.say("/new what about 4812?")
	owner.echoes("what about 4812?")
	h.forgot("my number is 4711", "which number?")

	gate := make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "the end of the old one", Gate: gate})
	owner.say("take your time")
	h.asked(asks("take your time"))
	owner.say("/new")
	owner.hears("New conversation. What is still running ends in the old one; /stop ends it now.")
	close(gate)
	owner.hears("the end of the old one")
	owner.talks("hello again")
	h.forgot("my number is 4711", "what about 4812?", "which number?", "take your time")
	owner.silent()
}
