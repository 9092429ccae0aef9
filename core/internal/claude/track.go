package claude

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// track follows one line that was written, and the lines that were steered into its turn, through the events of their
// process to the end of the last turn of theirs. It does no I/O.
type track struct {
	uuid string // the line's

	queued   bool // the CLI has the line, but did not take it up at once
	acked    bool // the CLI took the line up
	echoed   bool // by the replay echo
	settled  bool // the CLI says that it is done with the line
	finished bool
	over     []*turn // the line's own, then those of steered lines; none with finished: the line was acknowledged, but not run
	now      *turn   // the one that runs, or is next
	inits    int     // turns that have begun, of whomever
	opened   int     // how often a tool began while none ran
	steered  []steered
	shown    *progress
}

// turn is what is known of a turn.
type turn struct {
	shown         *progress // the track's
	began         bool
	outcome       *protocol.Event // its result; nil: it runs
	answer        answer
	work          work
	compacting    bool
	compactions   int
	synthetic     bool   // a message of the CLI's own was seen
	failure       string // the last one's error
	retried       string // why the last request was tried again: named better there than at the end
	resetsAt      time.Time
	model         string
	fallback      agent.Fallback
	contextTokens int64
	request       protocol.Tokens // of the API request that is being answered
}

func newTrack(uuid string) *track {
	shown := new(progress)
	return &track{uuid: uuid, now: &turn{shown: shown}, shown: shown}
}

// own is the finished turn of the line itself; nil: there is none.
func (t *track) own() *turn {
	if len(t.over) == 0 {
		return nil
	}
	return t.over[0]
}

// stage is how far a turn is: what whoever waits for it acts on. Most events, such as the pieces of an answer, do not
// change it.
type stage struct {
	acked, echoed, began, finished bool

	inits, opened int
	tool          bool // one runs
	busy          bool // silence is to be expected: a tool runs, or the conversation is being compacted
}

func (t *track) stage() stage {
	tool := t.now.work.running()
	return stage{
		acked: t.acked, echoed: t.echoed, began: t.now.began || len(t.over) > 0, finished: t.finished,
		inits: t.inits, opened: t.opened, tool: tool, busy: tool || t.now.compacting,
	}
}

// observe takes the next event.
func (t *track) observe(e *protocol.Event) {
	if t.finished {
		return
	}
	switch e.Type {
	case "system":
		t.system(e)
	case "command_lifecycle":
		if e.Command == t.uuid {
			t.lifecycle(e.State)
		} else {
			t.steeredLifecycle(e.Command, e.State)
		}
	case "control_response":
		t.withdrawn(e)
	case "user":
		switch {
		case e.IsReplay && e.UUID == t.uuid:
			t.acked, t.echoed = true, true
		case e.IsReplay && t.consume(e.UUID):
		case e.Message != nil && e.Parent == "":
			t.now.user(e.Message)
		}
	case "assistant":
		if e.Message != nil && e.Parent == "" {
			idle := !t.now.work.running()
			t.now.assistant(e)
			if idle && t.now.work.running() {
				t.opened++
			}
		}
	case "stream_event":
		if e.Parent == "" {
			t.now.stream(&e.Stream)
		}
	case "rate_limit_event":
		if e.Limits.Status == "rejected" && e.Limits.ResetsAt > 0 {
			t.now.resetsAt = time.Unix(e.Limits.ResetsAt, 0)
		}
	case "result":
		t.result(e)
	}
	t.shown.took(t.taken())
}

// progress returns how far the track is, if that has changed.
func (t *track) progress() (agent.Progress, bool) {
	if t.waits() {
		return agent.Progress{}, false
	}
	return t.shown.take()
}

// waits tells whether the line is known to wait, so that what runs is not its turn. Older CLIs do not say so, and echo the
// line only behind the first block of its answer.
func (t *track) waits() bool { return t.queued && !t.acked }

// result ends the turn that runs. What it has brought stays: the answers of the turns that are the track's, or, where its
// line failed, what was said until then. A turn of somebody else's leaves nothing.
func (t *track) result(e *protocol.Event) {
	text := strings.TrimSuffix(t.shown.text.past, paragraph)
	if t.owns(e) {
		t.acked, t.now.outcome = true, e
		t.over = append(t.over, t.now)
		t.settle()
		if text = t.text(); !t.succeeded() && len(t.over) == 1 {
			text = t.shown.text.String()
		}
	}
	if t.waits() {
		t.shown.done = nil
	}
	t.shown.text.over(text)
	t.shown.runs(nil)
	t.now = &turn{shown: t.shown}
}

// lifecycle takes what the CLI tells of the line itself.
func (t *track) lifecycle(state string) {
	switch state {
	case "queued":
		t.queued = true
	case "started":
		t.acked = true
	case "completed", "cancelled":
		// Comes after the result. Without a turn the line had been consumed by an earlier process.
		t.acked, t.settled = true, true
		t.finished = !t.now.began && len(t.over) == 0
	}
}

func (t *track) system(e *protocol.Event) {
	switch e.Subtype {
	case "init":
		t.now.began = true
		t.inits++
	case "status":
		t.now.compacting = e.Status != nil && *e.Status == "compacting"
		if e.Status != nil && *e.Status == "requesting" {
			t.now.restart()
		}
	case "compact_boundary":
		t.now.compacting = false
		t.now.compactions++
		t.now.contextTokens = e.Compact.PostTokens
	case "api_retry":
		t.now.retried = e.Error
		t.now.restart()
	case "model_fallback":
		t.now.fallBack(e)
		t.now.restart()
	case "model_refusal_no_fallback":
		t.now.answer.stop(refusal)
		t.now.restart()
	case "session_state_changed":
		if e.State == "idle" {
			t.rest()
		}
	}
}

// rest takes that the CLI has nothing to do. A turn begins with an init event: a line that was echoed without one is one
// that it knew from before, and ran nothing for.
func (t *track) rest() {
	switch {
	case len(t.over) == 0:
		t.finished = t.settled || t.echoed && !t.now.began
	case !t.now.began:
		t.forgetEchoes()
	}
}

// fallBack takes that another model is asked from now on. There may be several, one after the other.
func (t *turn) fallBack(e *protocol.Event) {
	if t.fallback.From == "" {
		t.fallback = agent.Fallback{From: e.OriginalModel, Overloaded: e.Trigger == "overloaded"}
	}
	t.fallback.To = e.FallbackModel
}

// restart drops what was streamed of a message that is asked for again.
func (t *turn) restart() { t.shown.text.settle(&t.answer) }

// user takes a message of the user's side that the CLI wrote.
func (t *turn) user(m *protocol.Message) {
	for i := range m.Content {
		if use, ok := t.work.ended(&m.Content[i]); ok {
			t.shown.finish(agent.Step{Tool: use})
			t.shown.runs(t.work.open)
		}
	}
	t.answer.user(m)
}

func (t *turn) assistant(e *protocol.Event) {
	m := e.Message
	if len(m.Content) == 0 {
		return
	}
	if m.Model == protocol.SyntheticModel {
		t.synthetic, t.failure = true, e.Error
		return
	}
	t.model = m.Model
	for _, text := range t.answer.add(m) {
		t.shown.finish(agent.Step{Text: text, Past: t.shown.text.past})
	}
	t.shown.text.settle(&t.answer)
	for i := range m.Content {
		b := &m.Content[i]
		if t.work.add(b) {
			t.shown.runs(t.work.open)
		}
		if b.Type == "thinking" {
			t.shown.thought.set(b.Thinking)
		}
	}
	t.request.Input, t.request.CacheRead, t.request.CacheCreation = m.Usage.Input, m.Usage.CacheRead, m.Usage.CacheCreation
	t.contextTokens = max(t.request.Context(), m.Usage.Context())
}

func (t *turn) stream(e *protocol.StreamEvent) {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			t.request = e.Message.Usage
			t.contextTokens = t.request.Context()
		}
		t.shown.text.begin(t.answer.goesOn())
	case "content_block_start":
		switch e.Block.Type {
		case "text":
			t.shown.text.open()
		case "thinking":
			t.shown.thought.open()
		}
	case "content_block_delta":
		t.shown.text.stream(e.Delta.Text)
		t.shown.thought.stream(e.Delta.Thinking)
	case "message_stop":
		t.shown.text.settle(&t.answer) // blocks that were cut are void
	case "message_delta":
		t.answer.stop(e.Delta.StopReason)
		if e.Delta.StopReason == refusal {
			t.shown.text.settle(&t.answer)
		}
		t.request.Output = e.Usage.Output
		t.contextTokens = t.request.Context()
	}
}

// owns tells whether a result is of the line's own turn or, after that, of one of the steered lines'. Turns that nobody
// asked for have an origin; newer CLIs name the lines that a turn answered.
func (t *track) owns(e *protocol.Event) bool {
	own := len(t.over) == 0
	if e.Messages == nil {
		// What was acknowledged within an alien turn was steered into it.
		return e.Origin == nil || own && t.acked || !own && t.runs()
	}
	return slices.ContainsFunc(e.Messages, func(id string) bool {
		if own {
			return id == t.uuid
		}
		return t.find(id) != nil
	})
}

// succeeded tells whether the line was answered.
func (t *track) succeeded() bool { return len(t.over) > 0 && t.over[0].succeeded() }

func (t *turn) succeeded() bool { return t.outcome != nil && !t.outcome.IsError }

// outcome is what the turns brought.
func (t *track) outcome() agent.Result {
	r := agent.Result{Text: t.text()}
	for _, step := range t.shown.done {
		if step.Tool.Name == "" {
			r.Before = append(r.Before, step.Text)
		}
	}
	for _, turn := range append(slices.Clone(t.over), t.now) {
		turn.add(&r)
	}
	return r
}

// text is the answer, with those of the steered lines that ran behind it.
func (t *track) text() string {
	var texts []string
	for i, turn := range t.over {
		if text := turn.text(); text != "" && t.succeeded() && (i == 0 || turn.succeeded()) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, paragraph)
}

// text is the answer.
func (t *turn) text() string {
	switch {
	case t.outcome == nil:
		return ""
	case t.answer.some || t.synthetic:
		return strings.TrimSpace(t.answer.text.String())
	default:
		return strings.TrimSpace(t.outcome.Result)
	}
}

// add adds the turn's figures and its work.
func (t *turn) add(r *agent.Result) {
	r.Compactions += t.compactions
	if t.model != "" {
		r.Model, r.Fallback = t.model, agent.Fallback{}
		if from, _, _ := strings.Cut(t.fallback.From, "["); t.model != from { // else it was a subagent's
			r.Fallback = t.fallback
		}
	}
	if t.contextTokens > 0 {
		r.ContextTokens = t.contextTokens
	}
	t.work.report(r)
	if t.outcome == nil {
		return
	}
	for name, used := range t.outcome.SinceLast {
		r.InputTokens += used.InputTokens
		r.OutputTokens += used.OutputTokens
		r.CacheTokens += used.CacheRead + used.CacheCreation
		r.CostMicros += int64(math.Round(used.CostUSD * 1e6))
		if t.model == "" || name == t.model || used.Canonical == t.model || strings.HasPrefix(name, t.model+"[") {
			r.ContextWindow = max(r.ContextWindow, used.ContextWindow)
		}
	}
}
