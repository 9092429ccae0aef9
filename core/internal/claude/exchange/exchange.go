// Package exchange follows what is said over one line that the host writes to claude: its turn, the lines that are steered into
// that, what they have brought and how they ended. It knows events, not processes.
package exchange

import (
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Exchange follows one line that was written, and the lines that were steered into its turn, through the events of their
// process to the end of the last turn of theirs. It does no I/O.
type Exchange struct {
	uuid string // the line's

	queued   bool // the CLI has the line, but did not take it up at once
	acked    bool // the CLI took the line up
	echoed   bool // by the replay echo
	settled  bool // the CLI says that it is done with the line
	finished bool
	over     []*turn // the line's own, then those of steered lines; none with finished: the line was acknowledged, but not run
	now      *turn   // the one that runs, or is next
	inits    int     // turns that have begun, of other lines, too
	opened   int     // how often a tool began while none ran
	steered  []steered
	shown    *progress
}

// New begins to follow a line that is about to be written.
func New(uuid string) *Exchange {
	shown := new(progress)
	return &Exchange{uuid: uuid, now: &turn{shown: shown}, shown: shown}
}

// Ran reports whether the line's own turn is over.
func (x *Exchange) Ran() bool { return len(x.over) > 0 }

// Failure returns why the line was not answered; nil: it was, or its own turn is not over.
func (x *Exchange) Failure() *agent.Failure {
	if !x.Ran() || x.Succeeded() {
		return nil
	}
	return x.over[0].failed()
}

// Stage is how far a turn is: what whoever waits for it acts on. Most events, such as the pieces of an answer, do not
// change it.
type Stage struct {
	Acked, Echoed, Began, Finished bool

	Inits, Opened int
	Tool          bool // one runs
	Busy          bool // silence is to be expected: a tool runs, or the conversation is being compacted
}

// Stage returns how far the turn is.
func (x *Exchange) Stage() Stage {
	tool := x.now.work.running()
	return Stage{
		Acked: x.acked, Echoed: x.echoed, Began: x.now.began || len(x.over) > 0, Finished: x.finished,
		Inits: x.inits, Opened: x.opened, Tool: tool, Busy: tool || x.now.compacting,
	}
}

// Observe takes the next event.
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
			x.now.user(e.Message)
		}
	case "assistant":
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

// Progress returns how far the exchange is, if that has changed.
func (x *Exchange) Progress() (agent.Progress, bool) {
	if x.waits() {
		return agent.Progress{}, false
	}
	return x.shown.take()
}

// waits reports whether the line is known to wait, so that what runs is not its turn. Older CLIs do not say so, and echo the
// line only behind the first block of its answer.
func (x *Exchange) waits() bool { return x.queued && !x.acked }

// result ends the turn that runs. What it has brought stays: the answers of the turns that are its own, or, where its
// line failed, what was said until then. A turn of somebody else's leaves nothing.
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

// lifecycle takes what the CLI tells of the line itself.
func (x *Exchange) lifecycle(state string) {
	switch state {
	case "queued":
		x.queued = true
	case "started":
		x.acked = true
	case "completed", "cancelled":
		// Comes after the result. Without a turn the line had been consumed by an earlier process.
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

// rest takes that the CLI has nothing to do. A turn begins with an init event: a line that was echoed without one is one
// that it knew from before, and ran nothing for.
func (x *Exchange) rest() {
	switch {
	case len(x.over) == 0:
		x.finished = x.settled || x.echoed && !x.now.began
	case !x.now.began:
		x.forgetEchoes()
	}
}

// owns reports whether a result is of the line's own turn or, after that, of one of the steered lines'. Turns that nobody
// asked for have an origin; newer CLIs name the lines that a turn answered.
func (x *Exchange) owns(e *protocol.Event) bool {
	own := len(x.over) == 0
	if e.Messages == nil {
		// What was acknowledged within an alien turn was steered into it.
		return e.Origin == nil || own && x.acked || !own && x.runs()
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

// Outcome is what the turns brought.
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

// text is the answer, with those of the steered lines that ran behind it.
func (x *Exchange) text() string {
	var texts []string
	for i, turn := range x.over {
		if text := turn.text(); text != "" && x.Succeeded() && (i == 0 || turn.succeeded()) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, paragraph)
}
