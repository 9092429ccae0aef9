package claude_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// onlooker keeps what a turn tells of its progress.
type onlooker struct {
	mu       sync.Mutex
	reported []agent.Progress
	over     bool
	late     int // what was reported after the turn
}

func (o *onlooker) see(p agent.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		o.late++
	}
	o.reported = append(o.reported, p)
}

func (o *onlooker) all() []agent.Progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]agent.Progress(nil), o.reported...)
}

// watch runs a turn that must be answered, and returns what it has reported meanwhile.
func (r *rig) watch(pool *claude.Pool, turn agent.Turn) (agent.Result, []agent.Progress) {
	r.Helper()
	o := new(onlooker)
	turn.Watcher = r.showing(o.see)
	result := r.ask(pool, turn)
	o.mu.Lock()
	o.over = true
	o.mu.Unlock()
	r.Cleanup(func() {
		if o.late > 0 {
			r.Errorf("the turn told of its progress %d times after its end", o.late)
		}
	})
	return result, o.all()
}

func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	result, reported := r.watch(pool, r.turn(`[[stub {"thinking":"hm","tool":"echo out; false","answer":"one two three","token_delay_ms":1}]]`))
	if result.Text != "one two three" || len(reported) == 0 {
		t.Fatalf("answer = %q, got %+v", result.Text, reported)
	}
	grown := ""
	tool := agent.ToolUse{Name: "Bash", Summary: "echo out; false"}
	ran, thought := false, false
	for _, p := range reported {
		thought = thought || p.Thinking == "hm"
		if len(p.Running) == 1 && p.Running[0] == tool && len(p.Done) == 0 {
			ran = true
		}
		if !strings.HasPrefix(p.Text, grown) { // Tokens that came together are reported together.
			t.Errorf("the text %q was followed by %q", grown, p.Text)
		}
		grown = p.Text
	}
	if !ran || !thought {
		t.Errorf("the tool ran: %t, the thought was told: %t; told %+v", ran, thought, reported)
	}
	last := reported[len(reported)-1]
	tool.Failed, tool.Output = true, "out"
	if last.Text != result.Text || !last.Complete || len(last.Running) > 0 || len(last.Done) != 1 || last.Done[0].Tool != tool {
		t.Errorf("the last one reported is %+v", last)
	}
}

// once steers one line, and nudges so that it is asked again once that is written.
type once struct {
	written string // a file that is made then
	nudged  chan struct{}
	calls   int
}

func (o *once) Nudged() <-chan struct{} { return o.nudged }

func (o *once) Lines(context.Context) ([]agent.Line, error) {
	if o.calls++; o.calls > 1 {
		return nil, os.WriteFile(o.written, nil, 0o600)
	}
	o.nudged <- struct{}{}
	return []agent.Line{{UUID: "22222222-0000-4000-8000-000000000001", Text: "[Bob] also"}}, nil
}

// The answer of a line that ran behind the turn joins that of the turn.
func TestProgressOfSeveralTurns(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		written := filepath.Join(t.TempDir(), "written")
		turn := r.turn(`[[stub {"tool":"while ! test -e ` + written + `; do sleep 0.01; done","answer":"first","token_delay_ms":1}]]`)
		turn.Steering = &once{written: written, nudged: make(chan struct{}, 1)}
		result, reported := r.watch(pool, turn)
		last := reported[len(reported)-1]
		if last.Text != result.Text || last.Steered != 1 {
			t.Errorf("the last one reported is %+v, the answer %q", last, result.Text)
		}
	})
}
