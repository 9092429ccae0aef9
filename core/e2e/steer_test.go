//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// mailbox is what waits for a running turn.
type mailbox struct {
	mu     sync.Mutex
	lines  []agent.Line
	gave   int
	hold   func()          // waited for before lines are given out; nil: nothing
	nudged <-chan struct{} // nil: no nudges
}

// put has a line wait, from before the turn's tool begins.
func (m *mailbox) put(text string) agent.Line {
	l := agent.Line{UUID: uuid.NewString(), Text: prompt(text)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, l)
	return l
}

func (m *mailbox) Nudged() <-chan struct{} { return m.nudged }

func (m *mailbox) Lines(context.Context) ([]agent.Line, error) {
	if m.hold != nil {
		m.hold()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := m.lines
	m.lines = nil
	m.gave += len(lines)
	return lines, nil
}

// given is how many lines were given out.
func (m *mailbox) given() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gave
}

// own is a steered line as a message of its own.
func (r *rig) own(l agent.Line) agent.Turn {
	t := r.turn("")
	t.UUID, t.Prompt = l.UUID, l.Text
	return t
}

// gated is a tool that begins a file and then waits for another one.
func gated(begun, gate string) messagesapi.Reply {
	return messagesapi.Bash("touch " + begun + "; while [ ! -e " + gate + " ]; do sleep 0.02; done")
}

// open makes a file in the workspace.
func (r *rig) open(name string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.config.Workspace, name), nil, 0o600); err != nil {
		r.Fatal(err)
	}
}

// awaitFile waits for a file in the workspace.
func (r *rig) awaitFile(name string) {
	r.Helper()
	r.poll(name+" is there", func() bool {
		_, err := os.Stat(filepath.Join(r.config.Workspace, name))
		return err == nil
	})
}

// results fits requests after so many tool results.
func results(n int) func(messagesapi.Request) bool {
	return func(q messagesapi.Request) bool { return len(q.Prompt.ToolResults()) == n }
}

// requestsWith counts the requests whose conversation holds a text, and fails if one holds it twice.
func (r *rig) requestsWith(text string) int {
	r.Helper()
	n := 0
	for _, request := range r.api.Messages() {
		switch strings.Count(strings.Join(request.Prompt.Texts(), "\n"), text) {
		case 0:
		case 1:
			n++
		default:
			r.Errorf("a request holds %q more than once: %q", text, request.Prompt.Texts())
		}
	}
	return n
}

// wantCovered fails unless exactly these lines are covered.
func (r *rig) wantCovered(got agent.Result, want ...agent.Line) {
	r.Helper()
	var ids []string
	for _, l := range want {
		ids = append(ids, l.UUID)
	}
	if diff := cmp.Diff(ids, got.Covered); diff != "" {
		r.Errorf("covered (-want +got):\n%s", diff)
	}
}

// A line that the model has not read is withdrawn, and written again with another id; one that it has read is not.
// Behaviour: edit-waiting.
func TestWithdrawnLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, box := r.pool(), new(mailbox)
	r.api.Enqueue(gated("one", "go-one"), gated("two", "go-two"), messagesapi.Reply{Text: "done"})
	read := box.put("read line")
	turn, nudged := r.turn("water the plants"), make(chan struct{}, 1)
	turn.Steering, box.nudged = box, nudged
	a := r.begin(r.ctx, pool, turn)
	r.awaitFile("one")
	r.poll("the line is taken", func() bool { return box.given() == 1 })
	r.open("go-one")
	r.awaitFile("two")
	wrong := box.put("wrong line")
	nudged <- struct{}{}
	r.poll("the line is taken", func() bool { return box.given() == 2 })
	if !pool.Withdraw(r.ctx, r.session, wrong.UUID) {
		t.Error("a line was not taken back that was not read")
	}
	right := box.put("right line")
	nudged <- struct{}{}
	r.poll("the line is taken", func() bool { return box.given() == 3 })
	if pool.Withdraw(r.ctx, r.session, read.UUID) {
		t.Error("a line was taken back that was read")
	}
	r.open("go-two")
	<-a.done
	if a.err != nil || a.result.Text != "done" {
		t.Fatalf("result = %+v, %v", a.result, a.err)
	}
	r.wantCovered(a.result, read, right)
	for text, want := range map[string]int{"read line": 2, "wrong line": 0, "right line": 1} {
		if n := r.requestsWith(text); n != want {
			t.Errorf("%q is in %d requests, want %d", text, n, want)
		}
	}
	// Given up by its writer, it could still be a message of its own.
	r.api.Enqueue(messagesapi.Reply{Text: "after all"})
	if got := r.run(pool, r.own(wrong)); got.Text != "after all" {
		t.Errorf("the line on its own brings %+v", got)
	}
}

// A line that comes while a tool runs reaches the model behind the tool's result, in the same turn.
func TestSteeredLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, box := r.pool(), new(mailbox)
	r.api.Enqueue(gated("begun", "go"), messagesapi.Reply{Text: "both done"})
	first, second := box.put("and buy milk"), box.put("and bread")
	turn := r.turn("water the plants")
	turn.Steering = box
	a := r.begin(r.ctx, pool, turn)
	r.awaitFile("begun")
	r.poll("the lines are taken", func() bool { return box.given() == 2 })
	r.open("go")
	<-a.done
	if a.err != nil || a.result.Text != "both done" {
		t.Fatalf("result = %+v, %v", a.result, a.err)
	}
	r.wantCovered(a.result, first, second)
	if len(a.result.Tools) != 1 || a.result.Tools[0].Failed || !strings.HasPrefix(a.result.Tools[0].Summary, "touch begun") {
		t.Errorf("tools = %+v", a.result.Tools)
	}
	r.run(pool, r.turn("next"))
	for _, text := range []string{"and buy milk", "and bread"} {
		if n := r.requestsWith(text); n != 2 {
			t.Errorf("%q is in %d requests, want 2", text, n)
		}
	}
	// Even if the host has forgotten it, in this process and in the next one.
	for range 2 {
		if got := r.run(pool, r.own(first)); !got.Recovered || got.Text != "both done" {
			t.Errorf("the line on its own brings %+v", got)
		}
		r.close(pool)
		pool = r.pool()
	}
	if n := len(r.api.Messages()); n != 3 {
		t.Errorf("the model was asked %d times, want 3: %v", n, r.api.Messages())
	}
}

// Lines that miss the last tool are run by the CLI itself, and belong to the same run.
// Behaviour: steer-late.
func TestLateLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, box := r.pool(), new(mailbox)
	box.hold = func() {
		r.open("go")
		if _, err := r.api.Await(r.ctx, results(1)); err != nil {
			t.Error(err)
		}
	}
	gate := make(chan struct{})
	r.api.Enqueue(gated("begun", "go"), messagesapi.Reply{Text: "watered", Gate: gate})
	first, second := box.put("and buy milk"), box.put("and bread")
	turn := r.turn("water the plants")
	turn.Steering = box
	a := r.begin(r.ctx, pool, turn)
	r.poll("the lines are taken", func() bool { return box.given() == 2 })
	close(gate)
	<-a.done
	if a.err != nil || !strings.HasPrefix(a.result.Text, "watered\n\necho: ") || !strings.HasSuffix(a.result.Text, "and bread") {
		t.Fatalf("result = %+v, %v", a.result, a.err)
	}
	r.wantCovered(a.result, first, second)
	if got := r.run(pool, r.turn("next")).Text; !strings.HasSuffix(got, "next") {
		t.Errorf("the next answer is %q", got)
	}
	r.remembers("and buy milk")
	if r.processes.count() != 1 {
		t.Errorf("%d processes were started", r.processes.count())
	}
}

// What was not read before a stop is withdrawn, and the same message runs on its own afterwards.
// Behaviour: stop.
func TestStopWithdrawsLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, box := r.pool(), new(mailbox)
	r.api.Enqueue(gated("one", "go"), gated("two", "never"))
	read := box.put("and buy milk")
	turn := r.turn("water the plants")
	nudged := make(chan struct{}, 1)
	turn.Steering, box.nudged = box, nudged
	ctx, stop := context.WithCancelCause(r.ctx)
	defer stop(nil)
	a := r.begin(ctx, pool, turn)
	r.awaitFile("one")
	r.poll("the first is taken", func() bool { return box.given() == 1 })
	r.open("go")
	r.awaitFile("two")
	unread := box.put("and bread")
	nudged <- struct{}{}
	r.poll("the second is taken", func() bool { return box.given() == 2 })
	stop(agent.ErrStopped)
	<-a.done
	r.wantClass(a.err, agent.Aborted)
	r.wantCovered(a.result, read)
	before := len(r.api.Messages())
	if got := r.run(pool, r.own(unread)).Text; !strings.HasSuffix(got, "and bread") {
		t.Errorf("the line on its own is answered by %q", got)
	}
	if n := len(r.api.Messages()) - before; n != 1 || r.requestsWith("and bread") != 1 {
		t.Errorf("the model was asked %d times for it", n)
	}
}

// A stop also ends what the CLI runs by itself for a late line.
func TestStopInALateLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, box := r.pool(), new(mailbox)
	box.hold = func() {
		r.open("go")
		if _, err := r.api.Await(r.ctx, results(1)); err != nil {
			t.Error(err)
		}
	}
	gate, seconds := make(chan struct{}), unheardOf()
	r.api.Enqueue(gated("begun", "go"), messagesapi.Reply{Text: "watered", Gate: gate}, messagesapi.Bash("sleep "+seconds))
	l := box.put("and buy milk")
	turn := r.turn("water the plants")
	turn.Steering = box
	ctx, stop := context.WithCancelCause(r.ctx)
	defer stop(nil)
	a := r.begin(ctx, pool, turn)
	r.poll("the line is taken", func() bool { return box.given() == 1 })
	close(gate)
	r.poll("its tool sleeps", func() bool { return sleeping(seconds) > 0 })
	stop(agent.ErrStopped)
	<-a.done
	r.wantClass(a.err, agent.Aborted)
	r.wantCovered(a.result, l)
	if n := sleeping(seconds); n != 0 {
		t.Errorf("%d processes of the tool outlived the stop", n)
	}
	if got := r.run(pool, r.turn("next")).Text; !strings.HasSuffix(got, "next") {
		t.Errorf("the next answer is %q", got)
	}
}

// A line that was read is covered by the next attempt at its turn; one that was not runs on its own. Neither runs twice.
// Behaviour: steer-once.
func TestKilledWithLines(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read": true, "not read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, nil)
			pool, box := r.pool(), new(mailbox)
			gate := make(chan struct{})
			defer close(gate)
			r.api.Enqueue(gated("begun", "go"))
			l := box.put("and buy milk")
			turn := r.turn("water the plants")
			turn.Steering = box
			a := r.begin(r.ctx, pool, turn)
			r.awaitFile("begun")
			r.poll("the line is taken", func() bool { return box.given() == 1 })
			r.poll("the message is on disk", func() bool { return strings.Contains(r.transcript(r.session), turn.UUID) })
			if read {
				r.api.Enqueue(messagesapi.Reply{Text: "never sent", Gate: gate})
				r.open("go")
				r.asked(results(1))
				r.poll("the line is on disk", func() bool { return strings.Contains(r.transcript(r.session), `"source_uuid":"`+l.UUID) })
			}
			r.signal(pool, syscall.SIGKILL)
			<-a.done
			r.wantClass(a.err, agent.Died)
			want := []agent.Line{l}
			if !read {
				want = nil
			}
			r.wantCovered(a.result, want...)

			r.close(pool)
			pool = r.pool()
			r.api.Enqueue(messagesapi.Reply{Text: "it is done"})
			turn.Again = true
			got := r.run(pool, turn)
			if got.Text != "it is done" || !got.Continued {
				t.Errorf("the second attempt brings %+v", got)
			}
			r.wantCovered(got, want...)
			before := len(r.api.Messages())
			own := r.run(pool, r.own(l))
			if own.Recovered != read || !read && !strings.HasSuffix(own.Text, "and buy milk") {
				t.Errorf("the line on its own brings %+v", own)
			}
			if n := len(r.api.Messages()) - before; n != map[bool]int{true: 0, false: 1}[read] {
				t.Errorf("the model was asked %d times for the line", n)
			}
			r.run(pool, r.turn("next"))
			r.remembers("and buy milk")
		})
	}
}
