package hostapi

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/span"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// maxTyping limits the hints of a plugin that are looked at, a second. Further ones are dropped, without a word.
	maxTyping = 20
	// typingTimeout limits the work of a hint, and so how many are looked at at a time.
	typingTimeout = 5 * time.Second
)

type inboxServer struct {
	pluginv1.UnimplementedInboxServer
	caller
}

// Submit accepts an event. A malformed one gets the verdict Rejected and not an error, after which the plugin would send it
// again.
func (s inboxServer) Submit(ctx context.Context, r *pluginv1.SubmitRequest) (*pluginv1.SubmitResponse, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	event, err := wire.EventFromProto(r.GetEvent())
	if err != nil {
		s.log.Warn("a plugin submitted a malformed event", "plugin", s.instance, "error", err)
		return &pluginv1.SubmitResponse{Verdict: pluginv1.Verdict_VERDICT_REJECTED, Reason: err.Error()}, nil
	}
	ctx, accept := s.options.Tracer.Accept(ctx, s.instance, string(event.ID), incoming(ctx, span.Header), incoming(ctx, span.Began))
	outcome, err := s.options.Inbox.Submit(ctx, s.instance, event)
	accept.End(outcome.Verdict == chat.Duplicate, err)
	if err != nil {
		return nil, s.refuse("take an event", err)
	}
	return &pluginv1.SubmitResponse{Verdict: wire.VerdictToProto(outcome.Verdict), Reason: outcome.Reason}, nil
}

// incoming is what a call's metadata has of a name; empty: nothing, or several.
func incoming(ctx context.Context, name string) string {
	if values := metadata.ValueFromIncomingContext(ctx, name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// Typing takes a hint that a person is typing.
func (s inboxServer) Typing(ctx context.Context, r *pluginv1.TypingRequest) (*pluginv1.TypingResponse, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	if !s.typing.Allow() {
		return &pluginv1.TypingResponse{}, nil
	}
	hint, err := wire.TypingFromProto(r)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, typingTimeout)
	defer cancel()
	if err := s.options.Inbox.Typing(ctx, s.instance, hint); err != nil {
		return nil, s.refuse("take a hint that a person is typing", err)
	}
	return &pluginv1.TypingResponse{}, nil
}

type outboxServer struct {
	pluginv1.UnimplementedOutboxServer
	caller
}

// Post adds a message to the outbox.
func (s outboxServer) Post(ctx context.Context, r *pluginv1.PostRequest) (*pluginv1.PostResponse, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	to, err := s.address(r.GetAddress())
	if err != nil {
		return nil, err
	}
	if err := checkIdempotencyKey(r.GetIdempotencyKey()); err != nil {
		return nil, err
	}
	m := gateway.Message{To: to, Text: wire.Cut(r.GetText(), wire.MaxText)}
	if m.Buttons, err = wire.ButtonsFromProto(r.GetButtons()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if m.Uploads, err = uploads(r.GetMedia()); err != nil {
		return nil, err
	}
	id, err := s.options.Gateway.Post(ctx, s.program, r.GetIdempotencyKey(), m)
	if err != nil && !errors.Is(err, gateway.ErrEmpty) {
		return nil, s.refuse("post a message", err)
	}
	return &pluginv1.PostResponse{OutboxId: id}, nil
}
