package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

type hostTurns struct {
	client        pluginv1.TurnsClient
	runsUntrusted bool
	takesRich     bool
}

// Run waits until ctx ends: a turn may wait for others in its lane.
func (h hostTurns) Run(ctx context.Context, t Turn) (answer string, err error) {
	for p, err := range h.follow(ctx, t, false) {
		if err != nil {
			return "", err
		}
		answer = p.Text
	}
	return answer, nil
}

func (h hostTurns) Follow(ctx context.Context, t Turn) iter.Seq2[TurnProgress, error] {
	return h.follow(ctx, t, true)
}

// follow yields the end of a turn, and before it its progress if that is wanted.
func (h hostTurns) follow(ctx context.Context, t Turn, progress bool) iter.Seq2[TurnProgress, error] {
	return func(yield func(TurnProgress, error) bool) {
		if err := h.check(t); err != nil {
			yield(TurnProgress{}, fmt.Errorf("run turn: %w", err))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		request := turnToProto(t)
		request.Progress = progress
		stream, err := h.client.RunTurn(ctx, request)
		for {
			var r *pluginv1.RunTurnResponse
			if err == nil {
				r, err = stream.Recv()
			}
			switch {
			case errors.Is(err, io.EOF):
				yield(TurnProgress{}, errors.New("run turn: the host ended the stream without a result"))
				return
			case err != nil:
				yield(TurnProgress{}, hostError(ctx, "run turn", err))
				return
			case r.GetResult() != nil && r.GetResult().GetError() != "":
				yield(TurnProgress{Ended: true}, &TurnError{Message: r.GetResult().GetError()})
				return
			case r.GetResult() != nil:
				yield(TurnProgress{Text: r.GetResult().GetText(), Ended: true}, nil)
				return
			case r.GetProgress() != nil && !yield(TurnProgress{Text: r.GetProgress().GetText(), Held: r.GetProgress().GetHeld()}, nil):
				return
			}
		}
	}
}

// Begin leaves after the first event of the stream, which the host sends when it has the turn. The turn goes on.
func (h hostTurns) Begin(ctx context.Context, t Turn) error {
	if err := h.check(t); err != nil {
		return fmt.Errorf("begin turn: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	stream, err := h.client.RunTurn(ctx, turnToProto(t))
	if err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return errors.New("begin turn: the host ended the stream without taking the turn")
	}
	if err != nil {
		return hostError(ctx, "begin turn", err)
	}
	return nil
}

// check refuses what an older host would run with an owner's authority, or without a part of it.
func (h hostTurns) check(t Turn) error {
	if t.Untrusted && !h.runsUntrusted {
		return fmt.Errorf("the host is too old for untrusted turns: %w", errors.ErrUnsupported)
	}
	if !h.takesRich && (t.Context != "" || len(t.Media) > 0 || t.Conversation != "" || t.Agent != "") {
		return fmt.Errorf("the host is too old for a turn's context, media, conversation and agent: %w", errors.ErrUnsupported)
	}
	return nil
}

func turnToProto(t Turn) *pluginv1.RunTurnRequest {
	request := &pluginv1.RunTurnRequest{
		IdempotencyKey: t.Key,
		Address:        wire.AddressToProto(t.To),
		ChatKind:       wire.KindToProto(t.Kind),
		Prompt:         wire.Repair(t.Prompt),
		Deliver:        t.Deliver,
		Untrusted:      t.Untrusted,
		Context:        wire.Repair(t.Context),
		Media:          wire.MediaListToProto(t.Media),
		Conversation:   t.Conversation,
		Agent:          t.Agent,
	}
	if t.Timeout > 0 {
		request.Timeout = durationpb.New(t.Timeout)
	}
	return request
}
