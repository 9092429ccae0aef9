package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// mailbox is what waits for a running turn.
type mailbox struct {
	nudged chan struct{}
	// hold, if not nil, is waited for before lines are given out.
	hold func()

	mu    sync.Mutex
	lines []agent.Line
	err   error
	asked int // how often
	gave  int // lines
}

func newMailbox() *mailbox { return &mailbox{nudged: make(chan struct{}, 1)} }

// put has a line wait, and nudges.
func (m *mailbox) put(text string) agent.Line {
	l := agent.Line{UUID: uuid.NewString(), Text: "[Bob] " + text}
	m.mu.Lock()
	m.lines = append(m.lines, l)
	m.mu.Unlock()
	select {
	case m.nudged <- struct{}{}:
	default:
	}
	return l
}

func (m *mailbox) Nudged() <-chan struct{} { return m.nudged }

// Lines gives out what waits.
func (m *mailbox) Lines(context.Context) ([]agent.Line, error) {
	if m.hold != nil {
		m.hold()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	lines := m.lines
	m.lines = nil
	m.gave += len(lines)
	return lines, m.err
}

// given is how many lines were given out.
func (m *mailbox) given() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gave
}

// steerable has a turn take lines from a mailbox.
func steerable(t agent.Turn, m *mailbox) agent.Turn {
	t.Steering = m
	return t
}

// own is a steered line as a message of its own.
func (r *rig) own(l agent.Line) agent.Turn {
	t := r.turn("")
	t.UUID, t.Prompt = l.UUID, l.Text
	return t
}

// file is a path in the workspace.
func (r *rig) file(name string) string { return filepath.Join(r.config.Workspace, name) }

// touch makes a file in the workspace.
func (r *rig) touch(name string) {
	r.Helper()
	if err := os.WriteFile(r.file(name), nil, 0o600); err != nil {
		r.Fatal(err)
	}
}

// until is a shell command that begins a file and waits for another one.
func until(begun, gate string) string {
	return "touch " + begun + "; while [ ! -e " + gate + " ]; do sleep 0.01; done"
}

// said counts in the transcript how often the user's side has said a text to the model.
func (r *rig) said(text string) int {
	r.Helper()
	n := 0
	for l := range strings.Lines(r.transcript()) {
		if strings.Contains(l, text) && !strings.Contains(l, "queue-operation") && !strings.Contains(l, `"type":"assistant"`) {
			n++
		}
	}
	return n
}

// read reports whether claude has read lines while a turn ran.
func (r *rig) read(lines ...agent.Line) bool {
	r.Helper()
	transcript := r.transcript()
	return !slices.ContainsFunc(lines, func(l agent.Line) bool {
		text, err := json.Marshal(l.Text)
		if err != nil {
			r.Fatal(err)
		}
		return !strings.Contains(transcript, `"content":`+string(text)+`,"operation":"enqueue"`)
	})
}

// What waits when a tool begins, and what comes while it runs, is part of the turn.
// Behaviour: steer, oneshot.
func TestSteer(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), newMailbox()
		early := box.put("early")
		a := r.begin(r.Context(), pool, steerable(r.turn(directive(map[string]any{
			"tool": until("one", "go-one"), "tools": []string{until("two", "go-two")}, "say": "heard: $STEERED",
		})), box))
		poll(t, "the first tool runs", func() bool { return exists(r.file("one")) })
		middle := box.put("halfway")
		poll(t, "both are read", func() bool { return r.read(early, middle) })
		r.touch("go-one")
		poll(t, "the second tool runs", func() bool { return exists(r.file("two")) })
		late := box.put("late")
		poll(t, "the last is read", func() bool { return r.read(late) })
		r.touch("go-two")
		<-a.done
		if a.err != nil {
			t.Fatal(a.err)
		}
		if want := "heard: [Bob] early\n[Bob] halfway\n[Bob] late"; a.result.Text != want {
			t.Errorf("answer = %q, want %q", a.result.Text, want)
		}
		if diff := cmp.Diff([]string{early.UUID, middle.UUID, late.UUID}, a.result.Covered); diff != "" {
			t.Errorf("covered (-want +got):\n%s", diff)
		}
		if a.result.CostMicros != 12500 {
			t.Errorf("cost = %d: it was one turn", a.result.CostMicros)
		}
		if got := r.ask(pool, r.turn("next")); got.Text != "echo: [Bob] next" || len(got.Covered) > 0 {
			t.Errorf("the next turn brought %+v", got)
		}
	})
}

// A turn without a tool asks for nothing, and lines that come with an error are written.
func TestSteerIsNotAsked(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), newMailbox()
		waits := box.put("waits")
		if got := r.ask(pool, steerable(r.turn("no tool"), box)); len(got.Covered) > 0 || box.asked > 0 {
			t.Errorf("asked %d times, result %+v", box.asked, got)
		}
		box.err = errors.New("the disk is on fire")
		if got := r.ask(pool, steerable(r.turn(directive(map[string]any{"tool": "sleep 0.1"})), box)); !slices.Equal(got.Covered, []string{waits.UUID}) || box.asked == 0 {
			t.Errorf("asked %d times, result %+v", box.asked, got)
		}
	})
}

// Nothing is written that would be a command of the CLI or that it would not run.
func TestSteerRefuses(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), newMailbox()
		turn := r.turn(directive(map[string]any{"tool": until("begun", "go"), "say": "heard: $STEERED"}))
		good := agent.Line{UUID: uuid.NewString(), Text: "[Bob] good"}
		box.lines = []agent.Line{
			{UUID: uuid.NewString(), Text: "/clear"},
			{UUID: uuid.NewString(), Text: " \n"},
			{Text: "[Bob] nameless"},
			{UUID: turn.UUID, Text: "[Bob] the same"},
			good, good,
		}
		a := r.begin(r.Context(), pool, steerable(turn, box))
		poll(t, "the lines are taken, and the good one is read", func() bool { return box.given() == 6 && r.read(good) })
		r.touch("go")
		<-a.done
		got := a.result
		if a.err != nil || got.Text != "heard: [Bob] good" || !slices.Equal(got.Covered, []string{good.UUID}) {
			t.Errorf("result = %+v, %v", got, a.err)
		}
	})
}

// late is a mailbox that gives its lines out when the turn's tool is over.
func (r *rig) late() *mailbox {
	box := newMailbox()
	box.hold = func() {
		r.touch("go")
		poll(r.T, "the tool is over", func() bool { return strings.Contains(r.transcript(), "tool_result") })
	}
	return box
}

// slow is a turn that is still answering when its tool is over.
func (r *rig) slow() agent.Turn {
	return r.turn(directive(map[string]any{"tool": until("begun", "go"), "answer": "a b c d e f g h i j", "token_delay_ms": 50}))
}

// Lines that miss the last tool run by themselves, merged, as part of the same run.
// Behaviour: steer-late.
func TestSteerTooLate(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), r.late()
		one, two := box.put("one"), box.put("two")
		got := r.ask(pool, steerable(r.slow(), box))
		if want := "a b c d e f g h i j\n\necho: [Bob] one\n[Bob] two"; got.Text != want {
			t.Errorf("answer = %q, want %q", got.Text, want)
		}
		if diff := cmp.Diff([]string{one.UUID, two.UUID}, got.Covered); diff != "" {
			t.Errorf("covered (-want +got):\n%s", diff)
		}
		if got.CostMicros != 2*12500 {
			t.Errorf("cost = %d, want that of two turns", got.CostMicros)
		}
		if got := r.ask(pool, r.turn("next")).Text; got != "echo: [Bob] next" {
			t.Errorf("the next answer is %q", got)
		}
		r.wantSpawned(pool, 1)
	})
}

// A late line whose own turn fails is run again as a message, and the answer before it is not lost.
// Behaviour: steer-late.
func TestSteerTooLateAndFails(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), r.late()
		l := box.put(directive(map[string]any{"error": "529"}))
		got := r.ask(pool, steerable(r.slow(), box))
		if got.Text != "a b c d e f g h i j" || len(got.Covered) > 0 {
			t.Errorf("result = %+v", got)
		}
		if again := r.ask(pool, r.own(l)); !strings.HasPrefix(again.Text, "echo: ") || !strings.Contains(r.transcript(), "was cut off") {
			t.Errorf("the line on its own brings %+v", again)
		}
	})
}

// A stop in the turn of a late line covers it; a shutdown leaves it to the next process, like the message itself.
func TestStopInTheTurnOfALateLine(t *testing.T) {
	for _, cause := range []error{agent.ErrStopped, agent.ErrShutdown} {
		t.Run(cause.Error(), func(t *testing.T) {
			everyWay(t, func(t *testing.T, r *rig) {
				pool, box := r.pool(), r.late()
				l := box.put(directive(map[string]any{"tool": until("late", "never"), "say": "late answer"}))
				ctx, stop := context.WithCancelCause(r.Context())
				defer stop(nil)
				turn := r.slow()
				a := r.begin(ctx, pool, steerable(turn, box))
				poll(t, "the late line runs", func() bool { return exists(r.file("late")) })
				stop(cause)
				<-a.done
				r.wantClass(a.err, agent.Aborted)
				if left := tools(t, r.session); len(left) > 0 {
					t.Errorf("tools outlived the stop: %v", left)
				}
				if covered := len(a.result.Covered) > 0; covered != (cause == agent.ErrStopped) {
					t.Errorf("covered = %v", a.result.Covered)
				}
				// The next attempt finds the message's answer, and continues with the line.
				if again := r.ask(pool, r.again(turn)); again.Text != "a b c d e f g h i j" || !again.Recovered {
					t.Errorf("the next attempt brings %+v", again)
				}
				if again := r.ask(pool, r.own(l)); !again.Continued {
					t.Errorf("the line on its own brings %+v", again)
				}
			})
		})
	}
}

// What claude begins in spite of the stop is stopped as well.
func TestStopAlsoStopsWhatFollows(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, box := r.pool(), newMailbox()
		l := box.put(directive(map[string]any{"tool": until("late", "never")}))
		ctx, stop := context.WithCancelCause(r.Context())
		defer stop(nil)
		a := r.begin(ctx, pool, steerable(r.turn(directive(map[string]any{"tool": until("one", "never"), "keeps": true})), box))
		poll(t, "the tool runs, and the line is read", func() bool { return exists(r.file("one")) && r.read(l) })
		stop(agent.ErrStopped)
		<-a.done
		r.wantClass(a.err, agent.Aborted)
		if diff := cmp.Diff([]string{l.UUID}, a.result.Covered); diff != "" {
			t.Errorf("covered (-want +got):\n%s", diff)
		}
		if left := tools(t, r.session); len(left) > 0 {
			t.Errorf("tools outlived the stop: %v", left)
		}
		if got := r.ask(pool, r.turn("next")).Text; got != "echo: [Bob] next" {
			t.Errorf("the next answer is %q", got)
		}
		r.wantSpawned(pool, 1)
	})
}
