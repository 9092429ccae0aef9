//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// A stranger is let in by a code, and from then on has a conversation that outlives the host.
func TestStranger(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{access: `dm = "pairing"`})
	h.start()
	john := h.person(2000)

	john.say("a message before the pairing")
	prompt := john.next().Text
	var asking []domain.Pairing
	h.show(&asking, "pairing", "list")
	if len(asking) != 1 || asking[0].User != "2000" || !strings.Contains(prompt, asking[0].Code) || !strings.Contains(prompt, "2000") {
		t.Fatalf("the stranger got %q, and the list has %+v", prompt, asking)
	}
	john.say("and another one")
	if err := h.telegram.AwaitConfirmed(h.ctx); err != nil {
		t.Fatal(err)
	}
	john.silent()
	if got := h.clawhost("pairing", "approve", asking[0].Code); !strings.Contains(got, "may write now") {
		t.Errorf("clawhost pairing approve says %q", got)
	}
	if welcome := john.next().Text; !strings.HasPrefix(welcome, "Welcome, User2000.") {
		t.Errorf("the stranger got %q, want a welcome", welcome)
	}
	if requests := h.api.Requests(); len(requests) != 0 {
		t.Errorf("the model was asked before the pairing: %v", requests)
	}

	john.talks("my number is 4711")
	first := h.claude()
	john.talks("which number?")
	h.remembers("my number is 4711", "which number?")
	if second := h.claude(); second != first {
		t.Errorf("the second turn ran in process %d, want the first one's, %d", second, first)
	}

	h.stop()
	h.start()
	john.talks("do you still know?")
	h.remembers("my number is 4711", "which number?", "do you still know?")
	h.forgot("a message before the pairing", "and another one")
	john.silent()
}

// A request that is rejected is gone, and its code opens nothing.
func TestRejectedStranger(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{access: `dm = "pairing"`})
	h.start()
	eve := h.person(6660)
	eve.say("let me in")
	eve.next()
	var asking []domain.Pairing
	h.show(&asking, "pairing", "list")
	if len(asking) != 1 {
		t.Fatalf("the list has %+v", asking)
	}
	code := asking[0].Code
	h.clawhost("pairing", "reject", "telegram", code)
	h.show(&asking, "pairing", "list")
	if len(asking) != 0 {
		t.Errorf("the list still has %+v", asking)
	}
	if output, err := h.command("pairing", "approve", code).CombinedOutput(); err == nil {
		t.Errorf("a rejected code was approved: %s", output)
	}
	eve.silent()
}
