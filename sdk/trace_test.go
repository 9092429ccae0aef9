package sdk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/span"
)

// answered is a call whose trailer the test sees.
type answered struct {
	grpc.ServerTransportStream

	trailer metadata.MD
}

func (a *answered) SetTrailer(md metadata.MD) error {
	a.trailer = metadata.Join(a.trailer, md)
	return nil
}

// call has a function handle a call with metadata, and returns the spans that go back.
func call(t *testing.T, method string, of metadata.MD, handle func(ctx context.Context) error) []span.Span {
	t.Helper()
	a := &answered{}
	ctx := grpc.NewContextWithServerTransportStream(metadata.NewIncomingContext(t.Context(), of), a)
	wanted := errors.New("failed")
	_, err := traceCall(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
		if err := handle(ctx); err != nil {
			t.Error(err)
		}
		return nil, wanted
	})
	if !errors.Is(err, wanted) {
		t.Errorf("the call returned %v", err)
	}
	if len(a.trailer) == 0 {
		return nil
	}
	spans, err := span.Decode(a.trailer.Get(span.Spans)[0])
	if err != nil {
		t.Error(err)
	}
	return spans
}

// The parts of a traced call go back with its response, each below the one that it was begun in. The call itself is never left out.
func TestSpansOfACall(t *testing.T) {
	t.Parallel()
	at := span.Context{Trace: span.OfEvent("p", "1"), Span: span.ID{7}}
	spans := call(t, pluginv1.Channel_SendMessage_FullMethodName, metadata.Pairs(span.Header, at.String()), func(ctx context.Context) error {
		within, end := Span(ctx, "request", "status", "200")
		_, endInner := Span(within, "dial")
		endInner(errors.New("refused"))
		end(nil)
		for i := range 100 {
			_, end := Span(ctx, fmt.Sprint(i))
			end(nil)
		}
		return nil
	})
	if len(spans) != span.Most {
		t.Fatalf("%d spans", len(spans))
	}
	own, dial, request := spans[0], spans[1], spans[2]
	if own.Name != "SendMessage" || own.Parent != at.Span || !own.Failed || request.Name != "request" || request.Parent != own.ID || request.Failed ||
		request.Attributes[0] != (span.Attribute{Name: "status", Value: "200"}) || dial.Parent != request.ID || !dial.Failed {
		t.Errorf("%+v", spans[:3])
	}
}

// A host that does not trace a call gets no spans, and what it calls of the plugin's own is not the author's.
func TestCallsWithoutSpans(t *testing.T) {
	t.Parallel()
	traced := span.Context{Trace: span.OfEvent("p", "1"), Span: span.ID{7}}.String()
	for name, of := range map[string]struct {
		method string
		md     metadata.MD
	}{
		"an old host":                {pluginv1.Channel_SendMessage_FullMethodName, nil},
		"a trace that is not kept":   {pluginv1.Channel_SendMessage_FullMethodName, metadata.Pairs(span.Header, traced[:len(traced)-1]+"0")},
		"two contexts":               {pluginv1.Channel_SendMessage_FullMethodName, metadata.Pairs(span.Header, traced, span.Header, traced)},
		"a call of the plugin's own": {pluginv1.Plugin_Describe_FullMethodName, metadata.Pairs(span.Header, traced)},
	} {
		spans := call(t, of.method, of.md, func(ctx context.Context) error {
			within, end := Span(ctx, "part")
			end(nil)
			if within != ctx {
				return errors.New("the part has a context of its own")
			}
			return nil
		})
		if len(spans) > 0 {
			t.Errorf("%s: %+v", name, spans)
		}
	}
}

var testTime = time.Unix(5, 6)

// A submission has the context of its event's trace if the host records that, and otherwise none: an old host said nothing of traces.
func TestContextOfASubmission(t *testing.T) {
	t.Parallel()
	p := &plugin{}
	submitted := func() string {
		sent, _ := metadata.FromOutgoingContext(p.traced(t.Context(), "1", testTime))
		return fmt.Sprint(sent.Get(span.Header), sent.Get(span.Began))
	}
	if got := submitted(); got != "[] []" {
		t.Errorf("to an old host: %s", got)
	}
	configured := func(share string) {
		p.noteTraces("p", traces(metadata.NewIncomingContext(t.Context(), metadata.Pairs(span.Share, share))))
	}
	for _, share := range []string{"x", "0", ""} {
		if configured(share); submitted() != "[] []" {
			t.Errorf("with the share %q: %s", share, submitted())
		}
	}
	configured("1")
	id := span.OfEvent("p", "1")
	if got, want := submitted(), fmt.Sprintf("[%s] [%d]", span.Context{Trace: id, Span: id.Root()}, testTime.UnixNano()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
