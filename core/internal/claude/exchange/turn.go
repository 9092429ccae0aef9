package exchange

import (
	"math"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// turn is the known state of a turn.
type turn struct {
	shown         *progress // of the exchange
	began         bool
	outcome       *protocol.Event // its result; nil: it is running
	answer        Answer
	work          work
	uses          Changes
	changes       agent.Changes
	compacting    bool
	compactions   int
	synthetic     bool   // a message of the CLI itself was seen
	failure       string // the error of the last one
	retried       string // why the last request was repeated: more precise there than at the end
	resetsAt      time.Time
	model         string
	fallback      agent.Fallback
	contextTokens int64
	request       protocol.Tokens // of the current API request
}

// fallBack records that another model is used from now on. There may be several in turn.
func (t *turn) fallBack(e *protocol.Event) {
	if t.fallback.From == "" {
		t.fallback = agent.Fallback{From: e.OriginalModel, Why: agent.Model}
		if e.Trigger == "overloaded" {
			t.fallback.Why = agent.Overloaded
		}
	}
	t.fallback.To = e.FallbackModel
}

// restart drops the streamed part of a message that is requested again.
func (t *turn) restart() { t.shown.text.settle(&t.answer) }

// user handles a message of the user's side that the CLI wrote.
func (t *turn) user(e *protocol.Event) {
	m := e.Message
	if change, changed, _ := t.uses.User(m, e.Reported); changed {
		added, removed := change.Count()
		t.changes.Add(change.Path, added, removed)
	}
	t.shown.plan(m, e.Reported)
	for _, d := range e.Decided {
		if d.Decision.Decision == "reject" {
			t.work.deny(d.ID)
		}
	}
	for i := range m.Content {
		if use, ok := t.work.ended(&m.Content[i]); ok {
			t.shown.finish(agent.Step{Tool: use})
			t.shown.runs(t.work.open)
		}
	}
	t.answer.User(m)
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
	t.uses.Assistant(m)
	t.shown.todos.assistant(m)
	for _, text := range t.answer.Add(m) {
		t.shown.finish(agent.Step{Text: text, Earlier: t.shown.text.past})
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
		t.shown.text.begin(t.answer.continued())
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

func (t *turn) succeeded() bool { return t.outcome != nil && !t.outcome.IsError }

func (t *turn) void() bool {
	return t.outcome.Turns == 0 && t.text() == "" && !t.answer.some && !t.synthetic && t.compactions == 0
}

// text is the answer.
func (t *turn) text() string {
	switch {
	case t.outcome == nil:
		return ""
	case t.answer.some || t.synthetic:
		return t.answer.String()
	default:
		return strings.TrimSpace(t.outcome.Result)
	}
}

// add adds the turn's figures and its work to a result.
func (t *turn) add(r *agent.Result) {
	r.Compactions += t.compactions
	if t.model != "" {
		r.Model, r.Fallback = t.model, agent.Fallback{}
		if from, _, _ := strings.Cut(t.fallback.From, "["); t.model != from { // otherwise it was a subagent's
			r.Fallback = t.fallback
		}
	}
	if t.contextTokens > 0 {
		r.ContextTokens = t.contextTokens
	}
	t.work.report(r)
	r.Changes.Join(t.changes)
	if t.outcome == nil {
		return
	}
	r.StopReason = t.outcome.StopReason
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
