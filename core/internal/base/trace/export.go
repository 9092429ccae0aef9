package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/sdk/span"
)

const (
	// queued bounds the spans that wait for their export; further ones are dropped.
	queued = 4096
	// batch bounds the spans of one request, and pause how long the first of them waits for others.
	batch = 512
	pause = time.Second
	// patience bounds a request, and lastPatience what is left to do when the host shuts down.
	patience     = 5 * time.Second
	lastPatience = time.Second
)

// put queues a span. It never blocks.
func (t *Tracer) put(r record) {
	select {
	case t.queue <- r:
	default:
		t.options.Metrics.Spans(metrics.SpansDropped, 1)
	}
}

// Run exports spans until ctx ends, then those that are queued, for at most a second.
func (t *Tracer) Run(ctx context.Context) {
	if t == nil {
		return
	}
	transport := t.options.Transport
	if transport == nil {
		transport = &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastPatience, end) })()
	failing := false
	export := func(list []record) {
		ctx, cancel := context.WithTimeout(work, patience)
		defer cancel()
		err := t.send(ctx, client, list)
		result := metrics.SpansExported
		if err != nil {
			result = metrics.SpansFailed
		}
		t.options.Metrics.Spans(result, len(list))
		if err != nil && !failing {
			t.log.Warn("traces cannot be exported; spans are dropped until they can", "error", err)
		}
		failing = err != nil
	}
	for {
		list, more := t.gather(ctx)
		if !more {
			break
		}
		export(list)
	}
	for left := t.rest(); len(left) > 0 && work.Err() == nil; left = t.rest() {
		export(left)
	}
}

// gather waits for a batch of spans; false: ctx has ended.
func (t *Tracer) gather(ctx context.Context) (list []record, more bool) {
	select {
	case r := <-t.queue:
		list = append(list, r)
	case <-ctx.Done():
		return nil, false
	}
	late := time.NewTimer(pause)
	defer late.Stop()
	for len(list) < batch {
		select {
		case r := <-t.queue:
			list = append(list, r)
		case <-late.C:
			return list, true
		case <-ctx.Done():
			return list, true
		}
	}
	return list, true
}

// rest returns what is queued, at most a batch.
func (t *Tracer) rest() (list []record) {
	for len(list) < batch {
		select {
		case r := <-t.queue:
			list = append(list, r)
		default:
			return list
		}
	}
	return list
}

// send sends spans to the collector.
func (t *Tracer) send(ctx context.Context, client *http.Client, list []record) error {
	body, err := json.Marshal(t.request(list))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.options.Endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, whose query may have a secret
	}
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("send spans: the collector answers %s", response.Status)
	}
	return nil
}

// The JSON of OTLP, https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, as far as it is needed. OpenTelemetry's libraries
// add 0.9 MB to the binary of the host, and cannot export the spans of plugins as they are.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpStatus struct {
		Code int `json:"code"`
	}
	otlpAttribute struct {
		Key   string `json:"key"`
		Value struct {
			String string `json:"stringValue"`
		} `json:"value"`
	}
)

// Numbers of OTLP.
const (
	kindInternal = 1
	statusError  = 2
)

// request makes a request of spans: those of the host, and of each plugin, are of a resource of their own.
func (t *Tracer) request(list []record) (all otlpRequest) {
	at := map[string]int{}
	for _, r := range list {
		i, known := at[r.service]
		if !known {
			i = len(all.ResourceSpans)
			at[r.service] = i
			service := "clawhost"
			if r.service != "" {
				service += "-" + r.service
			}
			of := otlpResource{ScopeSpans: make([]otlpScope, 1)}
			of.Resource.Attributes = attributes([]span.Attribute{{Name: "service.name", Value: service}, {Name: "service.version", Value: t.options.Version}})
			of.ScopeSpans[0].Scope.Name, of.ScopeSpans[0].Scope.Version = "clawhost", t.options.Version
			all.ResourceSpans = append(all.ResourceSpans, of)
		}
		to := &all.ResourceSpans[i].ScopeSpans[0]
		s := otlpSpan{
			TraceID: r.trace.String(), SpanID: r.ID.String(), Parent: r.Parent.String(), Name: r.Name, Kind: kindInternal,
			Start: nanos(r.Start), End: nanos(r.End), Attributes: attributes(r.Attributes),
		}
		if r.Failed {
			s.Status = &otlpStatus{Code: statusError}
		}
		to.Spans = append(to.Spans, s)
	}
	return all
}

// nanos is a time as OTLP writes it: numbers of 64 bits are texts.
func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

func attributes(list []span.Attribute) []otlpAttribute {
	all := make([]otlpAttribute, len(list))
	for i, a := range list {
		all[i].Key, all[i].Value.String = a.Name, a.Value
	}
	return all
}
