package metrics

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Host is the label of tools that are the host's own, where there is the label of a plugin otherwise.
const Host = "host"

// Result is the result of a try to deliver an item.
type Result string

// The results.
const (
	Delivered Result = "delivered"
	Retried   Result = "retried"
	Dead      Result = "dead" // given up
)

var (
	results  = []Result{Delivered, Retried, Dead}
	outcomes = []domain.RunState{domain.RunDone, domain.RunFailed, domain.RunCancelled}
)

// result is the label of a call that has failed or not.
func result(failed bool) string {
	if failed {
		return "failed"
	}
	return "ok"
}

// Message counts an event of a channel. With an error the host does not have it.
func (m *Metrics) Message(channel string, v chat.Verdict, err error) {
	if m == nil {
		return
	}
	verdict := v.String()
	if err != nil {
		verdict = "error"
	}
	m.messages.WithLabelValues(m.Plugin(channel), verdict).Inc()
}

// Begun counts the first attempt at a turn, and how long its message has waited.
func (m *Metrics) Begun(agent string, waited time.Duration, trace string) {
	if m != nil {
		observe(m.queueWait.WithLabelValues(m.agent(agent)), waited, trace)
	}
}

// FirstWord counts how long a message has waited for the first word that its chat could see.
func (m *Metrics) FirstWord(agent string, waited time.Duration, trace string) {
	if m != nil {
		observe(m.firstWord.WithLabelValues(m.agent(agent)), waited, trace)
	}
}

// Turn is a turn that has ended.
type Turn struct {
	Agent   string
	Outcome domain.RunState
	Took    time.Duration // its last attempt
	Since   time.Duration // from the acceptance of its message
	Trace   string        // empty: none
}

// Turn counts a turn that was completed.
func (m *Metrics) Turn(t Turn) {
	if m == nil {
		return
	}
	agent := m.agent(t.Agent)
	m.turns.WithLabelValues(agent, string(t.Outcome)).Inc()
	observe(m.turnTime.WithLabelValues(agent), t.Took, t.Trace)
	if t.Outcome == domain.RunDone {
		observe(m.answer.WithLabelValues(agent), t.Since, t.Trace)
	}
}

// Failed counts a failed attempt at a turn by the name of its class, which is of a closed set.
func (m *Metrics) Failed(agent, class string) {
	if m != nil {
		m.failures.WithLabelValues(m.agent(agent), class).Inc()
	}
}

// Used counts what a turn has used.
func (m *Metrics) Used(model string, u domain.Usage) {
	if m == nil || u.InputTokens+u.CacheTokens+u.OutputTokens+u.CostMicros == 0 {
		return
	}
	model = m.models.label(model)
	for kind, tokens := range map[string]int64{"input": u.InputTokens, "cache": u.CacheTokens, "output": u.OutputTokens} {
		m.tokens.WithLabelValues(model, kind).Add(float64(max(tokens, 0)))
	}
	m.cost.WithLabelValues(model).Add(float64(max(u.CostMicros, 0)) / 1e6)
}

// Sent counts how long a channel took to send an item, or to fail.
func (m *Metrics) Sent(channel string, took time.Duration, trace string) {
	if m != nil {
		observe(m.sendTime.WithLabelValues(m.Plugin(channel)), took, trace)
	}
}

// Delivery counts the result of a try, and for a delivered item how old it was.
func (m *Metrics) Delivery(channel string, r Result, age time.Duration, trace string) {
	if m == nil {
		return
	}
	channel = m.Plugin(channel)
	m.deliveries.WithLabelValues(channel, string(r)).Inc()
	if r == Delivered {
		observe(m.deliveryDelay.WithLabelValues(channel), age, trace)
	}
}

// Hook counts a call of a plugin's hook.
func (m *Metrics) Hook(plugin string, took time.Duration, failed bool) {
	if m != nil {
		observe(m.hookTime.WithLabelValues(m.Plugin(plugin), result(failed)), took, "")
	}
}

// Tool counts a call of a tool of a plugin, or, without one, of the host.
func (m *Metrics) Tool(plugin string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	if plugin == "" {
		plugin = Host
	}
	observe(m.toolTime.WithLabelValues(m.Plugin(plugin), result(failed)), took, "")
}

// Commit counts a transaction that is on the disk.
func (m *Metrics) Commit(took time.Duration) {
	if m != nil {
		observe(m.commitTime, took, "")
	}
}

// Exported is what has happened to spans of traces.
type Exported string

// What happens to spans.
const (
	SpansExported Exported = "exported"
	SpansFailed   Exported = "failed"  // the collector has not taken them
	SpansDropped  Exported = "dropped" // too many waited
)

// Spans counts spans of traces.
func (m *Metrics) Spans(what Exported, n int) {
	if m != nil {
		m.spans.WithLabelValues(string(what)).Add(float64(n))
	}
}
