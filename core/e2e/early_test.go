//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// spare waits until a spare process waits and nothing works, and returns all processes.
func (h *host) spare() []int {
	h.Helper()
	h.poll("a spare claude", func() bool {
		var status admin.Status
		h.show(&status, "status")
		return status.Claude.Spare == 1 && status.Claude.Running == 0
	})
	return h.claudes()
}

// A conversation begins in the process that waits for it, asks the API for nothing before, and is found again after a restart of the
// host. Behaviour: process-spare.
func TestSpare(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{spare: true, waits: true, access: `dm = "open"`})
	h.start()
	h.person(3000).talks("hello")
	before := h.spare()
	anna := h.person(3001)
	anna.talks("My name is Anna.")
	after := h.spare()
	started := 0
	for _, pid := range after {
		known := false
		for _, other := range before {
			known = known || pid == other
		}
		if !known {
			started++
		}
	}
	if started != 1 {
		t.Errorf("%d processes were started for one conversation, want the next spare one: %v, then %v", started, before, after)
	}
	for _, r := range h.api.Requests() {
		if r.Prompt == nil && strings.Contains(r.Path, "count_tokens") {
			t.Errorf("the API was asked %s", r)
		}
	}
	if n := len(h.api.Messages()); n != 2 {
		t.Errorf("the API was asked %d times for 2 messages", n)
	}
	h.kill()
	h.start()
	anna.talks("What is my name?")
	if text := string(h.last().Body); !strings.Contains(text, "My name is Anna.") {
		t.Errorf("after a restart claude was asked %.2000s", text)
	}
}

// A spare process that is killed costs nothing but the time of a start.
func TestSpareIsKilled(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{spare: true, waits: true, access: `dm = "open"`})
	h.start()
	h.person(3000).talks("hello")
	for i := range 3 {
		h.spare()
		p := h.person(int64(3001 + i))
		if i < 2 {
			for _, pid := range h.claudes() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		p.say("hello")
		if i == 2 { // while it is given to the conversation
			for _, pid := range h.claudes() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		p.next()
		if replies := h.telegram.Replies(p.chat); len(replies) != 1 {
			t.Errorf("the answers are %+v", replies)
		}
	}
}
