package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/sdk/span"
)

// collector takes what is exported.
type collector struct {
	mu    sync.Mutex
	spans []exported
}

type exported struct {
	TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string

	Status  struct{ Code int }
	service string
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var request struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct{ Value struct{ StringValue string } }
			}
			ScopeSpans []struct{ Spans []exported }
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, s := range of.ScopeSpans[0].Spans {
			s.service = of.Resource.Attributes[0].Value.StringValue
			c.spans = append(c.spans, s)
		}
	}
}

// names are what was exported, each span with its parent.
func (c *collector) names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parents := map[string]string{}
	for _, s := range c.spans {
		parents[s.SpanID] = s.service + ":" + s.Name
	}
	for _, s := range c.spans {
		line := parents[s.ParentSpanID] + " > " + s.service + ":" + s.Name
		if s.Status.Code != 0 {
			line += " (failed)"
		}
		names = append(names, line)
	}
	slices.Sort(names)
	return names
}

// record returns what is exported of what a function does with a tracer.
func record(t *testing.T, share float64, do func(tracer *trace.Tracer)) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	tracer := trace.New(trace.Options{Endpoint: server.URL, Share: share, Version: "1"}, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tracer.Run(ctx) })
	do(tracer)
	cancel() // what was recorded is exported at the end
	running.Wait()
	return c
}

// begun is a time as plugins send it.
func begun(ago time.Duration) string { return strconv.FormatInt(time.Now().Add(-ago).UnixNano(), 10) }

// A message's trace begins with the submission of a plugin that says so, or else with its acceptance; what follows finds it by the event
// alone, in each process.
// Behaviour: traces, traces-restart.
func TestTraceOfAMessage(t *testing.T) {
	t.Parallel()
	id := span.OfEvent("telegram", "1")
	header := span.Context{Trace: id, Span: id.Root()}.String()
	for _, test := range []struct {
		name, header, began string
		want                []string
	}{
		{"of a plugin that traces", header, begun(time.Second), []string{
			" > clawhost-telegram:submit", "clawhost-telegram:submit > clawhost:accept", "clawhost-telegram:submit > clawhost:deliver (failed)",
			"clawhost-telegram:submit > clawhost:turn", "clawhost:turn > clawhost:prompt", "clawhost:turn > clawhost:queue",
		}},
		{"of an old plugin", "", "", []string{
			" > clawhost:accept", "clawhost:accept > clawhost:deliver (failed)", "clawhost:accept > clawhost:turn", "clawhost:turn > clawhost:prompt", "clawhost:turn > clawhost:queue",
		}},
		{"that a plugin wants to put into that of another event", span.Context{Trace: span.OfEvent("telegram", "2"), Span: id.Root()}.String(), "", []string{
			" > clawhost:accept", "clawhost:accept > clawhost:deliver (failed)", "clawhost:accept > clawhost:turn", "clawhost:turn > clawhost:prompt", "clawhost:turn > clawhost:queue",
		}},
	} {
		c := record(t, 1, func(tracer *trace.Tracer) {
			_, accept := tracer.Accept(t.Context(), "telegram", "1", test.header, test.began)
			accept.End(false, nil)
			_, again := tracer.Accept(t.Context(), "telegram", "1", test.header, test.began)
			again.End(true, nil)
			ctx, turn := tracer.Event(t.Context(), "telegram", "1", true, time.Now(), "turn")
			turn.Past("queue", time.Now().Add(-time.Minute), time.Now())
			_, prompt := trace.Start(ctx, "prompt")
			prompt.End(nil)
			turn.End(nil)
			_, delivery := tracer.Event(t.Context(), "telegram", "1", true, time.Now(), "deliver")
			delivery.End(errors.New("no network"))
		})
		if diff := cmp.Diff(test.want, c.names()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		for _, s := range c.spans {
			if s.TraceID != id.String() {
				t.Errorf("%s: %s is of the trace %s", test.name, s.Name, s.TraceID)
			}
		}
	}
}

// A plugin cannot say that it began long ago, or in the future.
func TestBeginOfASubmission(t *testing.T) {
	t.Parallel()
	id := span.OfEvent("p", "1")
	for _, began := range []string{"", "x", "-1", "9223372036854775807", begun(-time.Hour), begun(time.Hour)} {
		before := time.Now()
		c := record(t, 1, func(tracer *trace.Tracer) {
			_, accept := tracer.Accept(t.Context(), "p", "1", span.Context{Trace: id, Span: id.Root()}.String(), began)
			accept.End(false, nil)
		})
		for _, s := range c.spans {
			if n, err := strconv.ParseInt(s.StartTimeUnixNano, 10, 64); err != nil || time.Unix(0, n).Before(before) || time.Unix(0, n).After(time.Now()) {
				t.Errorf("began %q: %s began at %s", began, s.Name, s.StartTimeUnixNano)
			}
		}
	}
}

// The spans of a plugin are parts of the call that it answers, or are dropped.
// Behaviour: traces-plugin.
func TestSpansOfPlugins(t *testing.T) {
	t.Parallel()
	c := record(t, 1, func(tracer *trace.Tracer) {
		ctx, turn := tracer.Event(t.Context(), "p", "1", false, time.Now(), "turn")
		_, call := trace.Start(ctx, "call")
		within, now := call.Context().Span, time.Now()
		call.Adopt("p", span.Encode([]span.Span{
			{ID: span.ID{1}, Parent: within, Name: "Send", Start: now, End: now},
			{ID: span.ID{2}, Parent: span.ID{1}, Name: "http", Start: now, End: now, Failed: true},
			{ID: span.ID{3}, Parent: span.ID{9}, Name: "of another trace", Start: now, End: now},
			{ID: span.ID{4}, Parent: within, Name: "too early", Start: now.Add(-time.Hour), End: now},
			{ID: span.ID{5}, Parent: within, Name: "too late", Start: now, End: now.Add(time.Hour)},
			{ID: within, Parent: turn.Context().Span, Name: "the call itself", Start: now, End: now},
		}))
		call.Adopt("p", "no spans")
		call.End(nil)
		turn.End(nil)
	})
	want := []string{" > clawhost:turn", "clawhost-p:Send > clawhost-p:http (failed)", "clawhost:call > clawhost-p:Send", "clawhost:turn > clawhost:call"}
	if diff := cmp.Diff(want, c.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of the messages that are not in the share nothing is recorded, and of the others all is.
func TestShare(t *testing.T) {
	t.Parallel()
	c := record(t, 0.5, func(tracer *trace.Tracer) {
		for i := range 200 {
			ctx, accept := tracer.Accept(t.Context(), "p", fmt.Sprint(i), "", "")
			if recorded := trace.ID(ctx) != ""; recorded != span.OfEvent("p", fmt.Sprint(i)).Recorded(0.5) {
				t.Errorf("the event %d is recorded: %t", i, recorded)
			}
			accept.End(false, nil)
			_, turn := tracer.Event(t.Context(), "p", fmt.Sprint(i), true, time.Now(), "turn")
			turn.End(nil)
		}
	})
	count := map[string]int{}
	for _, s := range c.spans {
		count[s.TraceID]++
	}
	if len(count) < 70 || len(count) > 130 || slices.ContainsFunc(c.spans, func(s exported) bool { return count[s.TraceID] != 2 }) {
		t.Errorf("%d traces: %v", len(count), count)
	}
}

// Traces that are off cost nothing.
func TestOff(t *testing.T) {
	for _, tracer := range []*trace.Tracer{
		trace.New(trace.Options{Share: 1}, hclog.NewNullLogger()), trace.New(trace.Options{Endpoint: "http://127.0.0.1:1"}, hclog.NewNullLogger()),
	} {
		if tracer != nil || tracer.Share() != 0 {
			t.Error("there is a tracer")
		}
		ctx := t.Context()
		allocated := testing.AllocsPerRun(10, func() {
			of, accept := tracer.Accept(ctx, "p", "1", "", "")
			accept.End(false, nil)
			_, turn := tracer.Event(of, "p", "1", true, time.Time{}, "turn")
			_, part := trace.Start(of, "part", "name", "value")
			part.Describe("name", "value")
			part.Past("past", time.Time{}, time.Time{})
			part.End(nil)
			turn.End(nil)
		})
		if allocated != 0 {
			t.Errorf("%v allocations", allocated)
		}
		tracer.Run(ctx)
	}
}

// stuck is a collector that does not answer.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A collector that hangs blocks no message: spans are dropped and counted, and the host does not wait for it when it shuts down.
// Behaviour: traces-down.
func TestCollectorThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		counts := metrics.New(metrics.Labels{})
		var log strings.Builder
		tracer := trace.New(trace.Options{Endpoint: "http://collector.example/?key=hidden-key", Share: 1, Metrics: counts, Transport: stuck{}},
			hclog.New(&hclog.LoggerOptions{Output: &log}))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tracer.Run(ctx) })
		began := time.Now()
		const spans = 20000
		for i := range spans {
			_, turn := tracer.Event(ctx, "p", fmt.Sprint(i), true, began, "turn")
			turn.End(nil)
			if i == spans/2 {
				time.Sleep(time.Minute) // in the bubble: requests time out
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("recording took %s", took-time.Minute)
		}
		ending := time.Now()
		cancel()
		running.Wait()
		if took := time.Since(ending); took > time.Second {
			t.Errorf("the end took %s", took)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(counts)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		lost := 0.0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "clawhost_trace_spans_total" && m.GetLabel()[0].GetValue() != "exported" {
					lost += m.GetCounter().GetValue()
				}
			}
		}
		if lost < spans-8192 || lost > spans {
			t.Errorf("%v of %d spans were counted as lost", lost, spans)
		}
		if strings.Contains(log.String(), "hidden-key") {
			t.Errorf("the log has the query of the address:\n%s", &log)
		}
		if n := strings.Count(log.String(), "traces cannot be exported"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, &log)
		}
	})
}

// broken answers with an error, and a large body.
type broken struct{ calls int }

func (b *broken) RoundTrip(*http.Request) (*http.Response, error) {
	b.calls++
	return &http.Response{StatusCode: http.StatusTooManyRequests, Status: "429", Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20)))}, nil
}

// What a collector refuses is dropped; it is not sent again.
func TestCollectorThatRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &broken{}
		tracer := trace.New(trace.Options{Endpoint: "http://collector.example", Share: 1, Transport: to}, hclog.NewNullLogger())
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tracer.Run(ctx) })
		_, turn := tracer.Event(ctx, "p", "1", true, time.Now(), "turn")
		turn.End(nil)
		time.Sleep(time.Hour)
		cancel()
		running.Wait()
		if to.calls != 1 {
			t.Errorf("%d requests", to.calls)
		}
	})
}
