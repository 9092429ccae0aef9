// Package exchange follows one line that the host writes to claude: its turn, the lines that are steered into it, their
// results and how they ended. It knows events, not processes.
package exchange

import (
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Exchange follows one written line, and the lines that were steered into its turn, through the events of their process
// to the end of their last turn. It does no I/O.
type Exchange struct {
	uuid string // of the line

	queued   bool // the CLI has the line, but has not started it
	acked    bool // the CLI has started the line
	echoed   bool // by the replay echo
	settled  bool // the CLI has completed the line
	finished bool
	over     []*turn // the line's own, then those of steered lines; none with finished: the line was acknowledged, but not run
	now      *turn   // the current or next one
	inits    int     // turns that have begun, including those of other lines
	opened   int     // how often a tool began while none ran
	steered  []steered
	shown    *progress
}

// New begins to follow a line that is about to be written in a conversation with a list of what the agent plans to do.
func New(uuid string, planned ...domain.Todo) *Exchange {
	shown := &progress{todos: todos{list: planned}}
	return &Exchange{uuid: uuid, now: &turn{shown: shown}, shown: shown}
}

// NewAnnounced is [New] for a CLI that reports when it starts a line, as newer ones do. Until then no turn belongs to the line.
func NewAnnounced(uuid string, planned ...domain.Todo) *Exchange {
	x := New(uuid, planned...)
	x.queued = true
	return x
}

// Ran reports whether the line's own turn has ended.
func (x *Exchange) Ran() bool { return len(x.over) > 0 }

// Void reports whether the line's own turn has ended without output and without asking the model. This can happen after a
// resumption.
func (x *Exchange) Void() bool { return x.Succeeded() && x.over[0].void() }

// Failure returns why the line was not answered; nil: it was, or its own turn has not ended.
func (x *Exchange) Failure() *agent.Failure {
	if !x.Ran() || x.Succeeded() {
		return nil
	}
	return x.over[0].failed()
}

// Stage is the state of a turn that those who wait for it react to. Most events, such as the pieces of an answer, do
// not change it.
type Stage struct {
	Acked, Echoed, Began, Finished bool

	Inits, Opened int
	Tool          bool // a tool is running
	Busy          bool // silence is expected: a tool runs, or the conversation is being compacted
}

// Stage returns the current stage.
func (x *Exchange) Stage() Stage {
	tool := x.now.work.running()
	return Stage{
		Acked: x.acked, Echoed: x.echoed, Began: x.now.began || len(x.over) > 0, Finished: x.finished,
		Inits: x.inits, Opened: x.opened, Tool: tool, Busy: tool || x.now.compacting,
	}
}

// Observe handles the next event.
func (x *Exchange) Observe(e *protocol.Event) {
	if x.finished {
		return
	}
	switch e.Type {
	case "system":
		x.system(e)
	case "command_lifecycle":
		if e.Command == x.uuid {
			x.lifecycle(e.State)
		} else {
			x.steeredLifecycle(e.Command, e.State)
		}
	case "control_response":
		x.withdrawn(e)
	case "user":
		switch {
		case e.IsReplay && e.UUID == x.uuid:
			x.acked, x.echoed = true, true
		case e.IsReplay && x.Consume(e.UUID):
		case e.Message != nil && e.Parent == "":
			x.now.user(e)
		case e.Message != nil:
			x.now.changes.Delegated = x.now.uses.Subagents(e.Message) || x.now.changes.Delegated
		}
	case "assistant":
		if e.Message != nil && e.Parent != "" {
			x.now.uses.Assistant(e.Message)
		}
		if e.Message != nil && e.Parent == "" {
			idle := !x.now.work.running()
			x.now.assistant(e)
			if idle && x.now.work.running() {
				x.opened++
			}
		}
	case "stream_event":
		if e.Parent == "" {
			x.now.stream(&e.Stream)
		}
	case "rate_limit_event":
		if e.Limits.Status == "rejected" && e.Limits.ResetsAt > 0 {
			x.now.resetsAt = time.Unix(e.Limits.ResetsAt, 0)
		}
	case "result":
		x.result(e)
	}
	x.shown.took(x.taken())
}

// Progress returns the progress, if it has changed.
func (x *Exchange) Progress() (agent.Progress, bool) {
	if x.waits() {
		return agent.Progress{}, false
	}
	return x.shown.take()
}

// waits reports whether the line is known to wait, so that the running turn is not its own. Older CLIs do not report
// this, and echo the line only after the first block of its answer.
func (x *Exchange) waits() bool { return x.queued && !x.acked }

// result ends the running turn. Its text is kept if the turn is the exchange's own: the answer, or, if the line failed,
// the text so far. Other turns leave nothing.
func (x *Exchange) result(e *protocol.Event) {
	text := strings.TrimSuffix(x.shown.text.past, paragraph)
	if x.owns(e) {
		x.acked, x.now.outcome = true, e
		x.over = append(x.over, x.now)
		x.settle()
		if text = x.text(); !x.Succeeded() && len(x.over) == 1 {
			text = x.shown.text.String()
		}
	}
	if x.waits() {
		x.shown.done = nil
	}
	x.shown.text.over(text)
	x.shown.runs(nil)
	x.now = &turn{shown: x.shown}
}

// lifecycle handles the CLI's reports about the line itself.
func (x *Exchange) lifecycle(state string) {
	switch state {
	case "queued":
		x.queued = true
	case "started":
		x.acked = true
	case "completed", "cancelled":
		// It follows the result. Without a turn, an earlier process had consumed the line.
		x.acked, x.settled = true, true
		x.finished = !x.now.began && len(x.over) == 0
	}
}

func (x *Exchange) system(e *protocol.Event) {
	switch e.Subtype {
	case "init":
		x.now.began = true
		x.inits++
	case "status":
		x.now.compacting = e.Status != nil && *e.Status == "compacting"
		if e.Status != nil && *e.Status == "requesting" {
			x.now.restart()
		}
	case "compact_boundary":
		x.now.compacting = false
		x.now.compactions++
		x.now.contextTokens = e.Compact.PostTokens
	case "permission_denied":
		x.now.work.deny(e.DeniedUse)
	case "api_retry":
		x.now.retried = e.Error
		x.now.restart()
	case "model_fallback":
		x.now.fallBack(e)
		x.now.restart()
	case "model_refusal_no_fallback":
		x.now.answer.stop(refusal)
		x.now.restart()
	case "session_state_changed":
		if e.State == "idle" {
			x.rest()
		}
	}
}

// rest handles the report that the CLI is idle. A turn begins with an init event: a line that was echoed without one
// was already known and not run.
func (x *Exchange) rest() {
	switch {
	case len(x.over) == 0:
		x.finished = x.settled || x.echoed && !x.now.began
	case !x.now.began:
		x.forgetEchoes()
	}
}

// owns reports whether a result belongs to the line's own turn or, after that, to one of the steered lines. Turns that
// began without a request have an origin; newer CLIs name the lines that a turn answered.
func (x *Exchange) owns(e *protocol.Event) bool {
	own := len(x.over) == 0
	if e.Messages == nil {
		// A result without a turn belongs to an earlier one. A line that was acknowledged within a foreign turn was steered into it.
		return e.Origin == nil && x.now.began && !x.waits() || own && x.acked || !own && x.runs()
	}
	return slices.ContainsFunc(e.Messages, func(id string) bool {
		if own {
			return id == x.uuid
		}
		return x.find(id) != nil
	})
}

// Succeeded reports whether the line was answered.
func (x *Exchange) Succeeded() bool { return len(x.over) > 0 && x.over[0].succeeded() }

// Outcome returns the result of the turns.
func (x *Exchange) Outcome() agent.Result {
	r := agent.Result{Text: x.text()}
	for _, step := range x.shown.done {
		if step.Tool.Name == "" {
			r.Before = append(r.Before, step.Text)
		}
	}
	for _, turn := range append(slices.Clone(x.over), x.now) {
		turn.add(&r)
	}
	return r
}

// text is the answer, with those of the steered lines that ran after it.
func (x *Exchange) text() string {
	var texts []string
	for i, turn := range x.over {
		if text := turn.text(); text != "" && x.Succeeded() && (i == 0 || turn.succeeded()) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, paragraph)
}
