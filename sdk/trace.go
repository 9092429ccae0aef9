package sdk

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/clawhost/clawhost/sdk/span"
)

// Span begins a part of the trace of a message, within the context of a call of the host, such as that of Channel.Send, of a hook or
// of a tool. The returned context is that of the part, for parts of its own, and end ends it; an error marks it as failed. Attributes
// are names and values in turns. The host sends it to the operator's tracing system, so it must not contain what people write. Where
// the host does not trace the message, Span costs nothing and does nothing. A call has at most 31 parts.
func Span(ctx context.Context, name string, attributes ...string) (_ context.Context, end func(error)) {
	of, ok := ctx.Value(callKey{}).(*tracedCall)
	if !ok {
		return ctx, func(error) {}
	}
	parent := of.parent
	if within, ok := ctx.Value(spanKey{}).(span.ID); ok {
		parent = within
	}
	s := span.Span{ID: newSpanID(), Parent: parent, Name: name, Start: time.Now()}
	for i := 0; i+1 < len(attributes); i += 2 {
		s.Attributes = append(s.Attributes, span.Attribute{Name: attributes[i], Value: attributes[i+1]})
	}
	return context.WithValue(ctx, spanKey{}, s.ID), func(err error) {
		s.End, s.Failed = time.Now(), err != nil
		of.add(s)
	}
}

// maxParts is how many parts a call has: it is one more span itself.
const maxParts = span.Most - 1

type (
	callKey struct{}
	spanKey struct{}
)

// newSpanID returns an id that no other span has.
func newSpanID() (id span.ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// tracedCall is a call of the host whose message is traced.
type tracedCall struct {
	parent span.ID

	mu    sync.Mutex
	spans []span.Span
}

func (c *tracedCall) add(s span.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spans) < maxParts {
		c.spans = append(c.spans, s)
	}
}

func (c *tracedCall) take() []span.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// traceCall intercepts each call of the host: if its message is traced, the spans of the call go back with its response.
func traceCall(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	headers := incoming.Get(span.Header)
	if len(headers) != 1 || !isAuthors(info.FullMethod) {
		return handle(ctx, request)
	}
	at, ok := span.Parse(headers[0])
	if !ok {
		return handle(ctx, request)
	}
	own := span.Span{ID: newSpanID(), Parent: at.Span, Name: info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:], Start: time.Now()}
	c := &tracedCall{parent: own.ID}
	response, err := handle(context.WithValue(ctx, callKey{}, c), request)
	own.End, own.Failed = time.Now(), err != nil
	spans := append([]span.Span{own}, c.take()...)
	_ = grpc.SetTrailer(ctx, metadata.Pairs(span.Spans, span.Encode(spans))) // fails if the call has ended
	return response, err
}

// traces is what the host has said about traces when it configured the plugin.
func traces(ctx context.Context) (share float64) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	if told := incoming.Get(span.Share); len(told) == 1 {
		share, _ = strconv.ParseFloat(told[0], 64)
	}
	return share
}

// noteTraces notes which messages the host traces.
func (p *plugin) noteTraces(instance string, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instance, p.share = instance, share
}

// traced returns a context for the submission of an event, whose trace begins with it.
func (p *plugin) traced(ctx context.Context, event string, began time.Time) context.Context {
	p.mu.Lock()
	instance, share := p.instance, p.share
	p.mu.Unlock()
	if share == 0 {
		return ctx
	}
	t := span.OfEvent(instance, event)
	if !t.Recorded(share) {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, span.Header, span.Context{Trace: t, Span: t.Root()}.String(),
		span.Began, strconv.FormatInt(began.UnixNano(), 10))
}
