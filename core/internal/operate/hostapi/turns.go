package hostapi

import (
	"cmp"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxTurnTime limits the time that a plugin may give a turn.
const maxTurnTime = 24 * time.Hour

type turnsServer struct {
	pluginv1.UnimplementedTurnsServer
	caller
}

// RunTurn queues a prompt like a message from a chat, and reports its result.
func (s turnsServer) RunTurn(r *pluginv1.RunTurnRequest, out grpc.ServerStreamingServer[pluginv1.RunTurnResponse]) error {
	if err := s.open(); err != nil {
		return err
	}
	to, kind, err := s.conversation(r.GetAddress(), r.GetChatKind())
	if err != nil {
		return err
	}
	if err := checkIdempotencyKey(r.GetIdempotencyKey()); err != nil {
		return err
	}
	if r.GetPrompt() == "" || len(r.GetPrompt()) > wire.MaxText {
		return status.Errorf(codes.InvalidArgument, "prompt: %d bytes, 1 to %d are allowed", len(r.GetPrompt()), wire.MaxText)
	}
	if len(r.GetContext()) > wire.MaxContext {
		return status.Errorf(codes.InvalidArgument, "context: %d bytes, at most %d are allowed", len(r.GetContext()), wire.MaxContext)
	}
	if r.GetConversation() != "" && !wire.ValidConversation(r.GetConversation()) {
		return status.Errorf(codes.InvalidArgument, "conversation: must be 1 to %d lower-case letters, digits and hyphens", wire.MaxConversation)
	}
	prompt := gateway.Prompt{
		Key: r.GetIdempotencyKey(), Agent: r.GetAgent(), To: to, Kind: kind, Text: wire.Repair(r.GetPrompt()), Deliver: r.GetDeliver(),
		Timeout: min(r.GetTimeout().AsDuration(), maxTurnTime), Untrusted: r.GetUntrusted(),
		Beside: wire.Repair(r.GetContext()), Conversation: r.GetConversation(), Progress: r.GetProgress(),
	}
	if prompt.Uploads, err = uploads(r.GetMedia()); err != nil {
		return err
	}
	first := true
	for progress, err := range s.options.Gateway.Ask(out.Context(), s.program, prompt) {
		if err != nil {
			return s.refuse("take a turn", err)
		}
		if err := out.Send(turnEvent(progress, first)); err != nil {
			return err
		}
		first = false
	}
	return nil
}

// turnEvent converts the progress of a turn: at first that it is queued, then what is known of it, and last its result.
func turnEvent(p gateway.Progress, first bool) *pluginv1.RunTurnResponse {
	switch {
	case p.End.State == "" && !first:
		return &pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Progress{
			Progress: &pluginv1.TurnProgress{Text: p.Text, Held: p.Held},
		}}
	case p.End.State == "":
		return &pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Queued{
			Queued: &pluginv1.TurnQueued{Position: uint32(min(p.Waiting, 1<<16))},
		}}
	}
	result := &pluginv1.TurnResult{Text: p.End.Answer}
	if p.End.State != domain.RunDone {
		result = &pluginv1.TurnResult{Error: cmp.Or(p.End.Answer, p.End.Error, string(p.End.State))}
	}
	return &pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Result{Result: result}}
}

// conversation returns a chat and its kind. In a direct chat the other person's id is the chat's.
func (c caller) conversation(a *pluginv1.Address, k pluginv1.ChatKind) (chat.Address, chat.Kind, error) {
	to, err := c.address(a)
	if err != nil {
		return chat.Address{}, 0, err
	}
	kind, err := wire.KindFromProto(k)
	if err != nil {
		return chat.Address{}, 0, status.Errorf(codes.InvalidArgument, "chat_kind: %v", err)
	}
	return to, kind, nil
}
