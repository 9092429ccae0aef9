package hostapi

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/domain"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
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
	to, err := s.reach(r.GetAddress())
	if err != nil {
		return nil, err
	}
	if err := s.receives(to); err != nil {
		return nil, err
	}
	key, err := s.key(domain.KeyPluginPost, r.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	text := wire.Cut(r.GetText(), wire.MaxText)
	var items []domain.OutboxItem
	if items = s.options.Notices.Notice(to, chat.Direct, text); len(items) == 0 {
		return &pluginv1.PostResponse{}, nil
	}
	id, err := s.options.Store.PostFrom(ctx, key, domain.Elsewhere{
		Said: chat.TranscriptEntry{Role: chat.System, Text: s.instance + ": " + text}, Note: "The plugin " + s.instance + " has sent to this chat: " + text,
	}, items...)
	if err != nil {
		return nil, s.refuse("post a message", err)
	}
	return &pluginv1.PostResponse{OutboxId: id}, nil
}
