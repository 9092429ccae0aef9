//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A message whose turn is interrupted continues where it was, without tools of the first attempt still running.
func TestCutOffWithinATool(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*host){
		"the host ends":      func(h *host) { h.stop(); h.start() }, // after the time that a turn is given
		"the host is killed": func(h *host) { h.kill(); h.start() },
		"claude is killed": func(h *host) {
			if err := syscall.Kill(h.claude(), syscall.SIGKILL); err != nil {
				h.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, setup{tools: []string{"Bash"}})
			h.start()
			owner := h.owner()
			seconds := unheardOf()
			h.api.Enqueue(messagesapi.Bash("setsid sleep " + seconds + " & wait"))
			owner.say("water the plants")
			h.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
			// The CLI writes its transcript some time behind; what it has not written its next process does not know.
			h.poll("the CLI has kept that it does", func() bool { return h.kept(seconds) })
			owner.say("and feed the cat")
			if err := h.telegram.AwaitConfirmed(h.ctx); err != nil {
				t.Fatal(err)
			}

			h.api.Enqueue(messagesapi.Reply{Text: "they are watered"})
			cut(h)
			goesOn := h.asked(asks("cut off by a restart"))
			if n := sleeping(seconds); n != 0 {
				t.Errorf("%d processes of the tool live when the turn goes on", n)
			}
			if len(goesOn.Prompt.ToolResults()) != 1 || occurrences(goesOn, "water the plants") != 1 {
				t.Errorf("the turn goes on with %q and the tool's results %q", goesOn.Prompt.Texts(), goesOn.Prompt.ToolResults())
			}
			owner.hears(continued + "they are watered")
			owner.echoes("and feed the cat")
			h.remembers("water the plants", "and feed the cat")
			owner.silent()
		})
	}
}

// What is stopped at once, before claude has read it or is even there, is not answered, and what comes next is.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{api: messagesapi.Options{Answer: func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
		return messagesapi.Reply{Text: "too late", Hang: new(0)}, strings.Contains(p.LastUserText(), "never mind")
	}}})
	h.start()
	owner := h.owner()
	for n := range 6 {
		if n == 3 {
			owner.say("/new")
			owner.hears("New conversation.")
		}
		owner.say(fmt.Sprintf("never mind %d", n))
		if n%3 == 1 {
			h.poll("claude is there", func() bool { return len(h.claudes()) == 1 })
		}
		owner.say("/stop")
		if said := owner.next().Text; said != "Stopped." && said != "Nothing was running. One waiting message was dropped." {
			t.Errorf("after /stop the bot wrote %q", said)
		}
		owner.talks(fmt.Sprintf("number %d", n))
	}
	h.remembers("number 3", "number 4", "number 5")
	h.forgot("number 2")
	owner.silent()
}

// With one process for two chats, each goes on in its own conversation, in turn.
func TestChatsShareAProcess(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{access: `dm = "open"`, limits: "max_processes = 1"})
	h.start()
	anna, bob := h.person(2001), h.person(2002)
	for n := range 2 {
		anna.talks(fmt.Sprintf("anna says %d", n))
		bob.talks(fmt.Sprintf("bob says %d", n))
		h.claude()
	}
	h.remembers("bob says 0", "bob says 1")
	h.forgot("anna says")

	gate := make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "done, anna", Gate: gate})
	anna.say("take your time")
	h.asked(asks("take your time"))
	bob.say("me too")
	bob.say("/status")
	if got := bob.next().Text; !strings.Contains(got, "idle, 1 waiting") {
		t.Errorf("/status of who waits for the other: %q", got)
	}
	close(gate)
	anna.hears("done, anna")
	bob.echoes("me too")
	anna.silent()
	bob.silent()
}
