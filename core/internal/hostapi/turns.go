package hostapi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/domain"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// maxTurns limits the turns that a plugin waits for at a time. Each of them has an open call.
	maxTurns = 100
	// maxTurnTime limits the time that a plugin may give a turn.
	maxTurnTime = 24 * time.Hour
)

type turnsServer struct {
	pluginv1.UnimplementedTurnsServer
	caller
}

// RunTurn queues a prompt like a message from a chat, and reports its result.
func (s turnsServer) RunTurn(r *pluginv1.RunTurnRequest, out grpc.ServerStreamingServer[pluginv1.RunTurnResponse]) error {
	if err := s.open(); err != nil {
		return err
	}
	to, c, err := s.conversation(r.GetAddress(), r.GetChatKind())
	if err != nil {
		return err
	}
	if r.GetDeliver() {
		if err := s.receives(to); err != nil {
			return err
		}
	}
	key, err := s.key(domain.KeyPluginTurn, r.GetIdempotencyKey())
	if err != nil {
		return err
	}
	if r.GetPrompt() == "" || len(r.GetPrompt()) > wire.MaxText {
		return status.Errorf(codes.InvalidArgument, "prompt: %d bytes, 1 to %d are allowed", len(r.GetPrompt()), wire.MaxText)
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	default:
		return status.Errorf(codes.ResourceExhausted, "too many turns at a time: at most %d are allowed", maxTurns)
	}
	ctx, id := out.Context(), key.EventID()
	completed, stop := s.options.Store.Watch(to.Channel, id)
	defer stop()
	outcome, err := s.options.Inbox.Turn(ctx, key, domain.Message{
		Channel: to.Channel, Chat: c, Thread: to.Thread,
		Sender: chat.Sender{DisplayName: s.instance, IsBot: true},
		Text:   wire.Repair(r.GetPrompt()), Silent: !r.GetDeliver(), Timeout: min(r.GetTimeout().AsDuration(), maxTurnTime),
	})
	switch {
	case err != nil:
		return s.refuse("take a turn", err)
	case outcome.Verdict == chat.Rejected:
		return status.Error(codes.ResourceExhausted, outcome.Reason)
	}
	if err := out.Send(&pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Queued{
		Queued: &pluginv1.TurnQueued{Position: uint32(min(outcome.Waiting, 1<<16))},
	}}); err != nil {
		return err
	}
	result, err := s.result(ctx, to.Channel, id, completed)
	if err != nil {
		return err
	}
	return out.Send(&pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Result{Result: result}})
}

// result waits for a turn's end. A turn that has already ended is found at once.
func (s turnsServer) result(ctx context.Context, channel string, id chat.EventID, completed <-chan struct{}) (*pluginv1.TurnResult, error) {
	for {
		state, answer, errText, done, err := s.options.Store.Outcome(ctx, channel, id)
		switch {
		case err != nil:
			return nil, s.refuse("look a turn up", err)
		case done && state == domain.RunDone:
			return &pluginv1.TurnResult{Text: answer}, nil
		case done:
			said := answer
			if said == "" {
				said = errText
			}
			if said == "" {
				said = string(state)
			}
			return &pluginv1.TurnResult{Error: said}, nil
		}
		select {
		case <-completed:
		case <-s.options.Closing:
			return nil, status.Error(codes.Unavailable, "the host is shutting down")
		case <-ctx.Done():
			return nil, s.refuse("wait for a turn", ctx.Err())
		}
	}
}

// conversation returns the chat for an address and a kind. In a direct chat the other person's id is the chat's.
func (c caller) conversation(a *pluginv1.Address, k pluginv1.ChatKind) (chat.Address, chat.Chat, error) {
	to, err := c.reach(a)
	if err != nil {
		return chat.Address{}, chat.Chat{}, err
	}
	kind, err := wire.KindFromProto(k)
	if err != nil {
		return chat.Address{}, chat.Chat{}, status.Errorf(codes.InvalidArgument, "chat_kind: %v", err)
	}
	return to, chat.Chat{ID: to.Chat, Kind: kind}, nil
}
