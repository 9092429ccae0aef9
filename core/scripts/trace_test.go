package scripts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// collector takes spans by OTLP over HTTP.
type collector struct {
	server *httptest.Server

	mu    sync.Mutex
	spans []collected
	raw   strings.Builder
}

// collected is a span that a collector has.
type collected struct {
	TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string

	Attributes []struct {
		Key   string
		Value struct{ StringValue string }
	}
	Status  struct{ Code int }
	service string
}

func newCollector() *collector {
	c := &collector{}
	c.server = httptest.NewServer(http.HandlerFunc(c.take))
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct{ Value struct{ StringValue string } }
			}
			ScopeSpans []struct{ Spans []collected }
		}
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || json.Unmarshal(raw, &request) != nil || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(raw)
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				s.service = of.Resource.Attributes[0].Value.StringValue
				c.spans = append(c.spans, s)
			}
		}
	}
}

// tree shows the spans of a trace, each as its services and names from the root on; empty: no trace has all of these names.
func (c *collector) tree(names []string) (tree string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	traces := map[string][]collected{}
	for _, s := range c.spans {
		traces[s.TraceID] = append(traces[s.TraceID], s)
	}
	for id, spans := range traces {
		if slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(spans, func(s collected) bool { return s.Name == name })
		}) {
			continue
		}
		byID := map[string]collected{}
		for _, s := range spans {
			byID[s.SpanID] = s
		}
		var lines []string
		for _, s := range spans {
			line := s.line()
			for parent, ok := byID[s.ParentSpanID]; ok; parent, ok = byID[parent.ParentSpanID] {
				line = parent.line() + " > " + line
			}
			if _, known := byID[s.ParentSpanID]; !known && s.ParentSpanID != "" {
				line = "? > " + line
			}
			lines = append(lines, line)
		}
		slices.Sort(lines)
		return "trace " + id + "\n" + strings.Join(lines, "\n") + "\n"
	}
	return ""
}

func (s collected) line() string {
	if s.Status.Code != 0 {
		return s.service + ":" + s.Name + " (failed)"
	}
	return s.service + ":" + s.Name
}

// trace is the command of the same name.
func (s *stage) trace(ts *testscript.TestScript, _ bool, names []string) error {
	ctx, cancel := s.await()
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if tree := s.collector.tree(names); tree != "" {
			fmt.Fprint(ts.Stdout(), tree)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no trace has spans with the names %q; all are\n%s", names, s.collector.tree(nil))
		}
	}
}

// exported is the command of the same name.
func (s *stage) exported(ts *testscript.TestScript, _ []string) error {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	fmt.Fprintln(ts.Stdout(), s.collector.raw.String())
	s.collector.raw.Reset()
	s.collector.spans = nil
	return nil
}
