package trace_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/sdk/span"
)

// fast is a collector that takes everything at once.
type fast struct{}

func (fast) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, err
}

// BenchmarkMessage records and exports the spans of a message, as many as one without tools has: docs/observability.md has the figure.
func BenchmarkMessage(b *testing.B) {
	tracer := trace.New(trace.Options{Endpoint: "http://collector.example", Share: 1, Version: "1", Transport: fast{}}, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tracer.Run(ctx)
	}()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		event := fmt.Sprint(n)
		_, accept := tracer.Accept(ctx, "telegram", event, "", "")
		accept.End(false, nil)
		of, turn := tracer.Event(ctx, "telegram", event, true, time.Now(), "turn", "agent", "main", "channel", "telegram")
		turn.Past("queue", time.Now(), time.Now())
		for _, name := range []string{"hooks", "prompt", "files", "voice and links", "claude", "complete"} {
			_, part := trace.Start(of, name)
			part.End(nil)
		}
		turn.End(nil)
		of, delivery := tracer.Event(ctx, "telegram", event, true, time.Now(), "deliver", "channel", "telegram")
		_, call := trace.Start(of, "call SendMessage", "plugin", "telegram")
		now, at := time.Now(), call.Context()
		call.Adopt("telegram", span.Encode([]span.Span{
			{ID: span.ID{1}, Parent: at.Span, Name: "SendMessage", Start: now, End: now},
			{ID: span.ID{2}, Parent: span.ID{1}, Name: "Bot API sendMessage", Start: now, End: now},
		}))
		call.End(nil)
		delivery.End(nil)
	}
	cancel()
	<-ended
}
