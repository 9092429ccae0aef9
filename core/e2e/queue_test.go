//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// working has claude run a tool that ends when the returned function is called.
func working(h *host, owner *conversation) (release func()) {
	h.Helper()
	gate := filepath.Join(h.dir, "gate")
	seconds := unheardOf()
	h.api.Enqueue(messagesapi.Bash("sleep " + seconds + " & while [ ! -e " + gate + " ]; do sleep 0.05; done; kill $!"))
	owner.say("/queue")
	owner.next()
	owner.say("begin the work")
	h.poll("the tool runs", func() bool { return sleeping(seconds) > 0 })
	return func() {
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			h.Fatal(err)
		}
	}
}

// queueing is a host whose owner has chosen a mode for the session.
func queueing(t *testing.T, mode string) (*host, *conversation) {
	t.Helper()
	h := newHost(t, setup{tools: []string{"Bash"}})
	h.start()
	owner := h.owner()
	owner.say("/queue " + mode + " debounce:0s")
	owner.next()
	return h, owner
}

// A message that comes while a tool runs is given to claude with the tool's result, and one answer is for both.
// Behaviour: steer.
func TestSteer(t *testing.T) {
	t.Parallel()
	h, owner := queueing(t, "steer")
	release := working(h, owner)
	owner.say("and mind the gap")
	if err := h.telegram.AwaitConfirmed(h.ctx); err != nil {
		t.Fatal(err)
	}
	h.poll("the message is the running turn's", func() bool {
		var queue admin.Queue
		h.show(&queue, "queue")
		return len(queue.Lanes) == 1 && queue.Lanes[0].Running && queue.Lanes[0].Waiting == 0
	})
	h.api.Enqueue(messagesapi.Reply{Text: "both are done"})
	release()
	request := h.asked(func(q messagesapi.Request) bool { return len(q.Prompt.ToolResults()) == 1 })
	if n := strings.Count(string(request.Body), "and mind the gap"); n != 1 {
		t.Errorf("the request with the tool's result holds the message %d times: %v", n, request)
	}
	owner.hears("both are done")
	owner.talks("is there more?")
	h.remembers("begin the work")
	owner.silent()
}

// Messages that come while a turn runs are answered in one turn after it, numbered.
// Behaviour: queue-collect.
func TestCollect(t *testing.T) {
	t.Parallel()
	h, owner := queueing(t, "collect")
	release := working(h, owner)
	h.api.Enqueue(messagesapi.Reply{Text: "the work is done"})
	owner.say("one thing")
	owner.say("another thing")
	owner.say("/status")
	if got := owner.next().Text; !strings.Contains(got, "2 waiting") {
		t.Errorf("/status: %q, want two waiting", got)
	}
	release()
	owner.hears("the work is done")
	prompt := owner.next().Text
	want := regexp.MustCompile(`\[Queued messages while agent was busy\](?s:.*)Queued #1 \(from User1000\) id:\d+\none thing(?s:.*)Queued #2 \(from User1000\) id:\d+\nanother thing`)
	if !want.MatchString(prompt) {
		t.Errorf("claude got %q, want a match of %s", prompt, want)
	}
	owner.silent()
}

// A message ends the running turn, its tool with it, and is answered at once.
// Behaviour: queue-interrupt.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	h, owner := queueing(t, "interrupt")
	seconds := unheardOf()
	h.api.Enqueue(messagesapi.Bash("sleep " + seconds))
	owner.say("begin the work")
	h.poll("the tool runs", func() bool { return sleeping(seconds) > 0 })
	owner.talks("forget it, what is the time?")
	if n := sleeping(seconds); n != 0 {
		t.Errorf("%d processes of the tool live", n)
	}
	h.remembers("begin the work", "forget it")
	owner.silent()
}

// A model that a message names is asked for that message, and the session's own for the next one.
// Behaviour: turn-profile.
func TestModelOfOneMessage(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{limits: `model = "sonnet"`})
	h.start()
	owner := h.owner()
	owner.talks("hello")
	usual := h.last().Prompt.Model
	owner.say("/model haiku and what now?")
	owner.echoes("and what now?")
	if got := h.last().Prompt.Model; got == usual || !strings.Contains(got, "haiku") {
		t.Errorf("the message with a model went to %s, the one before to %s", got, usual)
	}
	owner.talks("and then?")
	if got := h.last().Prompt.Model; got != usual {
		t.Errorf("the next message went to %s, want %s", got, usual)
	}
	h.remembers("hello", "and what now?")
}

// A conversation that is compacted on request goes on.
// Behaviour: compact.
func TestCompact(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()
	owner.talks("my number is 4711")
	owner.talks("my name is Anna")
	owner.say("/compact keep the number")
	owner.hears("The conversation is compacted.")
	owner.talks("which number?")
	owner.say("/status")
	if got := owner.next().Text; !strings.Contains(got, "compact") {
		t.Errorf("/status: %q, want it to tell of the compaction", got)
	}
}
