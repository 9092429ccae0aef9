package hostapi

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
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
	outcome, err := s.options.Inbox.Submit(ctx, s.instance, event)
	if err != nil {
		return nil, s.refuse("take an event", err)
	}
	return &pluginv1.SubmitResponse{Verdict: wire.VerdictToProto(outcome.Verdict), Reason: outcome.Reason}, nil
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
	id, err := s.options.Gateway.Post(ctx, s.program,
		r.GetIdempotencyKey(), gateway.Message{To: to, Text: wire.Cut(r.GetText(), wire.MaxText)})
	if err != nil && !errors.Is(err, gateway.ErrEmpty) {
		return nil, s.refuse("post a message", err)
	}
	return &pluginv1.PostResponse{OutboxId: id}, nil
}
