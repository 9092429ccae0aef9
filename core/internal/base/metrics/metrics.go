// Package metrics counts and times what happens in the host, for Prometheus. The labels of what it counts come from the config or
// from closed sets: none names a person, a chat, a session or a file.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Other is the value of a label for what is in no closed set.
const Other = "other"

// maxModels bounds the models whose costs are told apart. The names come from the API.
const maxModels = 32

// Bounds of histograms, in seconds: of what takes milliseconds, such as a call of a plugin or a commit, and of what takes as long as
// Claude does.
var (
	short = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	long  = []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
)

// Source has the labels of the current config, which a reload may replace.
type Source interface{ Get() Labels }

// Labels are the labels of a config.
type Labels struct {
	Plugins []string // of plugin blocks
	Agents  []string
}

// Get implements [Source], for labels that stay.
func (l Labels) Get() Labels { return l }

// Metrics counts. It is safe for concurrent use. A nil Metrics counts nothing.
type Metrics struct {
	labels Source
	models *names
	all    []prometheus.Collector

	messages      *prometheus.CounterVec
	turns         *prometheus.CounterVec
	failures      *prometheus.CounterVec
	tokens        *prometheus.CounterVec
	cost          *prometheus.CounterVec
	deliveries    *prometheus.CounterVec
	spans         *prometheus.CounterVec
	turnTime      *prometheus.HistogramVec
	queueWait     *prometheus.HistogramVec
	firstWord     *prometheus.HistogramVec
	answer        *prometheus.HistogramVec
	sendTime      *prometheus.HistogramVec
	deliveryDelay *prometheus.HistogramVec
	hookTime      *prometheus.HistogramVec
	toolTime      *prometheus.HistogramVec
	commitTime    prometheus.Histogram
}

// New returns metrics that count from zero. What alerts watch is collected with each label of the config before it has counted, so
// that the first one is seen as an increase.
func New(labels Source) *Metrics {
	m := &Metrics{labels: labels, models: &names{most: maxModels}}
	m.messages = m.counters("messages_total", "Events that plugins have submitted, by the verdict of the host.", "channel", "verdict")
	m.turns = m.counters("turns_total", "Turns that have ended, by how.", "agent", "outcome")
	m.failures = m.counters("turn_failures_total", "Failed attempts at turns by class, also those that are tried again.", "agent", "class")
	m.tokens = m.counters("tokens_total", "Tokens that turns have used.", "model", "kind")
	m.cost = m.counters("cost_dollars_total", "What turns have cost, as Claude Code reports it.", "model")
	m.deliveries = m.counters("deliveries_total", "Tries to deliver an item, by result.", "channel", "result")
	m.spans = m.counters("trace_spans_total", "Spans of traces; dropped are those that came faster than they could be exported.", "result")
	m.turnTime = m.times("turn_duration_seconds", "From the claim of a message to the end of its turn.", long, "agent")
	m.queueWait = m.times("queue_wait_seconds", "From the acceptance of a message to the first begin of its turn.", long, "agent")
	m.firstWord = m.times("first_word_seconds", "From the acceptance of a message to the first part of its answer, or of its progress, that goes to the chat.", long, "agent")
	m.answer = m.times("answer_seconds", "From the acceptance of a message to its durable answer.", long, "agent")
	m.sendTime = m.times("send_duration_seconds", "How long a channel's plugin took to send an item.", short, "channel")
	m.deliveryDelay = m.times("delivery_delay_seconds", "From the posting of an item to its delivery.", long, "channel")
	m.hookTime = m.times("hook_duration_seconds", "How long the hook of a plugin took when a turn began.", short, "plugin", "result")
	m.toolTime = m.times("tool_duration_seconds", "How long a tool of a plugin, or of the host, took.", short, "plugin", "result")
	m.commitTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: prefix + "store_commit_duration_seconds", Help: "How long a transaction of the store took until it was on the disk.", Buckets: short,
	})
	m.all = append(m.all, m.commitTime)
	return m
}

// begin makes the counters that alerts watch.
func (m *Metrics) begin() {
	l := m.labels.Get()
	for _, label := range l.Plugins {
		for _, result := range results {
			m.deliveries.WithLabelValues(label, string(result))
		}
	}
	for _, label := range l.Agents {
		for _, outcome := range outcomes {
			m.turns.WithLabelValues(label, string(outcome))
		}
		m.turnTime.WithLabelValues(label)
	}
}

// prefix begins the names of the host's metrics.
const prefix = "clawhost_"

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	m.all = append(m.all, c)
	return c
}

func (m *Metrics) times(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: bounds}, labels)
	m.all = append(m.all, h)
	return h
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(to)
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.begin()
	for _, c := range m.all {
		c.Collect(to)
	}
}

// observe adds a duration, with the trace that it belongs to; an empty one is none. A clock that was set back counts as no time.
func observe(to prometheus.Observer, took time.Duration, trace string) {
	seconds := max(took, 0).Seconds()
	if of, ok := to.(prometheus.ExemplarObserver); ok && trace != "" {
		of.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": trace})
		return
	}
	to.Observe(seconds)
}
