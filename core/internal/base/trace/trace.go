// Package trace records the way of a message as spans, and exports them by OTLP. All spans of a message have a trace id that is
// derived from its event, so it is the same after a restart, and nothing need be stored. A recorded span is passed on in the context,
// as those of all tracing libraries are: it changes nothing but what is recorded. A nil Tracer records nothing.
package trace

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/sdk/span"
)

// maxAgo bounds how long ago a plugin may say that it began to submit an event.
const maxAgo = 10 * time.Minute

// Options are a tracer's settings.
type Options struct {
	Endpoint string  // of OTLP over HTTP; empty: traces are off
	Share    float64 // of the messages that are recorded, from 0 to 1
	Version  string  // of the host
	Metrics  *metrics.Metrics
	// Transport carries requests to the collector; nil: one of its own, without a proxy.
	Transport http.RoundTripper
}

// Tracer records spans. It is safe for concurrent use.
type Tracer struct {
	options Options
	log     hclog.Logger
	queue   chan record
}

// New returns a tracer, of which Run exports the spans; nil: traces are off.
func New(options Options, log hclog.Logger) *Tracer {
	if options.Endpoint == "" || options.Share == 0 {
		return nil
	}
	return &Tracer{options: options, log: log, queue: make(chan record, queued)}
}

// Share is the share of the messages that are recorded.
func (t *Tracer) Share() float64 {
	if t == nil {
		return 0
	}
	return t.options.Share
}

// record is a span that has ended.
type record struct {
	span.Span

	trace   span.Trace
	service string // the plugin whose span it is; empty: the host's
}

// Span is a part of a message's way that has begun. A nil Span records nothing.
type Span struct {
	tracer *Tracer
	trace  span.Trace
	span   span.Span
}

type key struct{}

// From returns the span of a context; nil: none is recorded.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(key{}).(*Span)
	return s
}

// ID returns the id of the trace that a context is in; empty: none is recorded.
func ID(ctx context.Context) string {
	if s := From(ctx); s != nil {
		return s.trace.String()
	}
	return ""
}

// Start begins a part of the span of a context. Attributes are names and values in turns; they do not contain what people write.
func Start(ctx context.Context, name string, attributes ...string) (context.Context, *Span) {
	of := From(ctx)
	if of == nil {
		return ctx, nil
	}
	s := &Span{tracer: of.tracer, trace: of.trace, span: span.Span{ID: newID(), Parent: of.span.ID, Name: name, Start: time.Now()}}
	s.Describe(attributes...)
	return context.WithValue(ctx, key{}, s), s
}

// newID returns an id that no other span has.
func newID() (id span.ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// Describe adds attributes, names and values in turns.
func (s *Span) Describe(attributes ...string) {
	if s == nil {
		return
	}
	for i := 0; i+1 < len(attributes); i += 2 {
		s.span.Attributes = append(s.span.Attributes, span.Attribute{Name: attributes[i], Value: attributes[i+1]})
	}
}

// End ends the span; an error marks it as failed.
func (s *Span) End(err error) { s.Failed(err != nil) }

// Failed ends the span of what has failed or not, without an error.
func (s *Span) Failed(failed bool) {
	if s == nil {
		return
	}
	s.span.End, s.span.Failed = time.Now(), failed
	s.tracer.put(record{Span: s.span, trace: s.trace})
}

// Context is the place of the span in its trace.
func (s *Span) Context() span.Context { return span.Context{Trace: s.trace, Span: s.span.ID} }

// Past records a part of the span that has ended already.
func (s *Span) Past(name string, from, to time.Time) {
	if s != nil {
		s.tracer.put(record{Span: span.Span{ID: newID(), Parent: s.span.ID, Name: name, Start: from, End: later(from, to)}, trace: s.trace})
	}
}

// Adopt records the spans of a plugin within this one, as far as they fit into it: they are not trusted.
func (s *Span) Adopt(plugin, encoded string) {
	if s == nil {
		return
	}
	spans, err := span.Decode(encoded)
	if err != nil {
		s.tracer.log.Debug("the spans of a plugin are dropped", "plugin", plugin, "error", err)
		return
	}
	known := map[span.ID]bool{s.span.ID: true}
	for _, of := range spans {
		known[of.ID] = true
	}
	now := time.Now()
	for _, of := range spans {
		if of.ID == s.span.ID || !known[of.Parent] || of.Start.Before(s.span.Start.Add(-time.Second)) || of.End.After(now.Add(time.Second)) {
			continue
		}
		s.tracer.put(record{Span: of, trace: s.trace, service: plugin})
	}
}

// Accept begins the acceptance of a channel's event. If the plugin says that it records the event, its submission, which began at a
// time in Unix nanoseconds, is the root of the trace; otherwise the acceptance is.
func (t *Tracer) Accept(ctx context.Context, channel, event, header, began string) (context.Context, *Acceptance) {
	if t == nil {
		return ctx, nil
	}
	id := span.OfEvent(channel, event)
	if !id.Recorded(t.options.Share) {
		return ctx, nil
	}
	now := time.Now()
	a := &Acceptance{Span: &Span{tracer: t, trace: id, span: span.Span{ID: id.Root(), Name: "accept", Start: now}}, plugin: channel}
	a.Describe("channel", channel)
	if at, ok := span.Parse(header); ok && at == (span.Context{Trace: id, Span: id.Root()}) {
		a.span.ID, a.span.Parent, a.began = newID(), id.Root(), now
		if n, err := strconv.ParseInt(began, 10, 64); err == nil {
			if at := time.Unix(0, n); at.Before(now) && at.After(now.Add(-maxAgo)) {
				a.began = at
			}
		}
	}
	return context.WithValue(ctx, key{}, a.Span), a
}

// Acceptance is the acceptance of an event.
type Acceptance struct {
	*Span

	plugin string
	began  time.Time // of the submission by the plugin; zero: it records none
}

// End ends the acceptance. What was only a duplicate is not recorded: its trace has an acceptance already.
func (a *Acceptance) End(duplicate bool, err error) {
	if a == nil || duplicate {
		return
	}
	a.Span.End(err)
	if !a.began.IsZero() {
		root := span.Span{ID: a.trace.Root(), Name: "submit", Start: a.began, End: time.Now(), Failed: err != nil}
		a.tracer.put(record{Span: root, trace: a.trace, service: a.plugin})
	}
}

// Event begins a part of the way of an event, which may have come to an earlier process. An event that no plugin has submitted begins
// its trace with the part.
func (t *Tracer) Event(ctx context.Context, channel, event string, submitted bool, start time.Time, name string, attributes ...string) (context.Context, *Span) {
	if t == nil || event == "" {
		return ctx, nil
	}
	id := span.OfEvent(channel, event)
	if !id.Recorded(t.options.Share) {
		return ctx, nil
	}
	s := &Span{tracer: t, trace: id, span: span.Span{ID: newID(), Parent: id.Root(), Name: name, Start: start}}
	if !submitted {
		s.span.ID, s.span.Parent = id.Root(), span.ID{}
	}
	s.Describe(attributes...)
	return context.WithValue(ctx, key{}, s), s
}

// Logged returns a log whose lines have the trace of a context.
func Logged(ctx context.Context, log hclog.Logger) hclog.Logger {
	if id := ID(ctx); id != "" {
		return log.With("trace", id)
	}
	return log
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if b.Before(a) {
		return a
	}
	return b
}
