package sdk

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// channelServer serves the plugin's channel.
type channelServer struct {
	pluginv1.UnimplementedChannelServer
	*plugin

	running sync.Mutex // held by Run
}

// Run runs the channel until the host cancels or the plugin shuts down.
func (s *channelServer) Run(_ *pluginv1.RunRequest, stream grpc.ServerStreamingServer[pluginv1.RunResponse]) error {
	channel, ok := find[Channel](s.plugin, pluginv1.Capability_CAPABILITY_CHANNEL)
	if !ok {
		return errNotConfigured
	}
	if !s.running.TryLock() {
		return status.Error(codes.FailedPrecondition, "the channel is already running")
	}
	defer s.running.Unlock()

	var telling sync.WaitGroup
	defer telling.Wait()
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.alive, cancel)()
	in := s.newInbox(stream)
	defer in.end()
	telling.Go(func() { in.typing.run(ctx) })

	err := channel.Run(ctx, in)
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, ErrBadCredentials):
		in.Report(chat.BadCredentials, err.Error())
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, ErrLoggedOut):
		in.Report(chat.LoggedOut, err.Error())
		return status.Error(codes.FailedPrecondition, err.Error())
	case err == nil:
		return status.Error(codes.Aborted, "Run returned, though it was not told to")
	default:
		return status.Error(codes.Aborted, err.Error())
	}
}

// GetCapabilities also works before Configure.
func (s *channelServer) GetCapabilities(
	_ context.Context, r *pluginv1.GetCapabilitiesRequest,
) (*pluginv1.GetCapabilitiesResponse, error) {
	kind, err := wire.KindFromProto(r.GetChatKind())
	if err != nil {
		return nil, invalid(err)
	}
	for _, c := range s.components {
		if c.limits != nil {
			return wire.LimitsToProto(c.limits(kind)), nil
		}
	}
	return nil, status.Error(codes.Unimplemented, "no channel")
}

// SendMessage sends one message.
func (s *channelServer) SendMessage(ctx context.Context, r *pluginv1.SendMessageRequest) (*pluginv1.SendMessageResponse, error) {
	out, err := wire.OutgoingFromProto(r)
	if err != nil {
		return nil, invalid(err)
	}
	channel, ok := find[Channel](s.plugin, pluginv1.Capability_CAPABILITY_CHANNEL)
	if !ok {
		return nil, errNotConfigured
	}
	receipt, err := channel.Send(ctx, out)
	if err != nil {
		return &pluginv1.SendMessageResponse{Outcome: &pluginv1.SendMessageResponse_Failure{Failure: s.failure(err)}}, nil
	}
	return &pluginv1.SendMessageResponse{Outcome: &pluginv1.SendMessageResponse_Sent{Sent: wire.ReceiptToProto(receipt)}}, nil
}

// EditMessage edits a sent message, if the channel is an [Editor].
func (s *channelServer) EditMessage(ctx context.Context, r *pluginv1.EditMessageRequest) (*pluginv1.EditMessageResponse, error) {
	editor, to, err := optional[Editor](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	buttons, err := wire.ButtonsFromProto(r.GetButtons())
	if err != nil {
		return nil, invalid(err)
	}
	err = editor.Edit(ctx, to, chat.MessageID(r.GetMessageId()), wire.Repair(r.GetText()), buttons)
	return &pluginv1.EditMessageResponse{Failure: s.failure(err)}, nil
}

// DeleteMessage deletes a sent message, if the channel is a [Deleter].
func (s *channelServer) DeleteMessage(ctx context.Context, r *pluginv1.DeleteMessageRequest) (*pluginv1.DeleteMessageResponse, error) {
	deleter, to, err := optional[Deleter](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	err = deleter.Delete(ctx, to, chat.MessageID(r.GetMessageId()))
	return &pluginv1.DeleteMessageResponse{Failure: s.failure(err)}, nil
}

// ReactToMessage reacts to a message, if the channel is a [Reactor].
func (s *channelServer) ReactToMessage(ctx context.Context, r *pluginv1.ReactToMessageRequest) (*pluginv1.ReactToMessageResponse, error) {
	reactor, to, err := optional[Reactor](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	err = reactor.React(ctx, to, chat.MessageID(r.GetMessageId()), wire.Repair(r.GetEmoji()))
	return &pluginv1.ReactToMessageResponse{Failure: s.failure(err)}, nil
}

// PinMessage pins a sent message, if the channel is a [Pinner].
func (s *channelServer) PinMessage(ctx context.Context, r *pluginv1.PinMessageRequest) (*pluginv1.PinMessageResponse, error) {
	pinner, to, err := optional[Pinner](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	err = pinner.Pin(ctx, to, chat.MessageID(r.GetMessageId()), r.GetPinned())
	return &pluginv1.PinMessageResponse{Failure: s.failure(err)}, nil
}

// SetTyping shows that an answer is being written, if the channel is a [Typer].
func (s *channelServer) SetTyping(ctx context.Context, r *pluginv1.SetTypingRequest) (*pluginv1.SetTypingResponse, error) {
	typer, to, err := optional[Typer](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	return &pluginv1.SetTypingResponse{Failure: s.failure(typer.Typing(ctx, to, r.GetActive()))}, nil
}

// UpdateDraft shows an answer before it is sent, if the channel is a [Drafter].
func (s *channelServer) UpdateDraft(ctx context.Context, r *pluginv1.UpdateDraftRequest) (*pluginv1.UpdateDraftResponse, error) {
	drafter, to, err := optional[Drafter](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	if r.GetDraftId() == 0 {
		return nil, invalid(errors.New("draft_id: zero"))
	}
	err = drafter.Draft(ctx, to, r.GetDraftId(), wire.Repair(r.GetText()))
	return &pluginv1.UpdateDraftResponse{Failure: s.failure(err)}, nil
}

// SetCommands updates the network's menu of commands, if the channel is a [CommandMenu].
func (s *channelServer) SetCommands(ctx context.Context, r *pluginv1.SetCommandsRequest) (*pluginv1.SetCommandsResponse, error) {
	commands, err := wire.SetCommandsFromProto(r)
	if err != nil {
		return nil, invalid(err)
	}
	menu, err := channelAs[CommandMenu](s)
	if err != nil {
		return nil, err
	}
	return &pluginv1.SetCommandsResponse{Failure: s.failure(menu.SetCommands(ctx, commands))}, nil
}

// Login logs in to an account, if the channel is a [LoginFlow].
func (s *channelServer) Login(r *pluginv1.LoginRequest, stream grpc.ServerStreamingServer[pluginv1.LoginResponse]) error {
	answers, err := wire.AnswersFromProto(r)
	if err != nil {
		return invalid(err)
	}
	flow, err := channelAs[LoginFlow](s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.alive, cancel)()
	asked := false
	account, err := flow.Login(ctx, answers, func(step chat.LoginStep) {
		asked = asked || step.Input != ""
		if stream.Send(wire.LoginStepToProto(step)) != nil {
			cancel() // The person has left.
		}
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && account == "" && asked:
		return nil
	case err == nil && account == "":
		return status.Error(codes.Internal, "the login ended without an account")
	}
	return stream.Send(wire.LoginEndToProto(account, s.failure(err)))
}

// GetHistory returns what was said before a message, if the channel is a [Historian].
func (s *channelServer) GetHistory(ctx context.Context, r *pluginv1.GetHistoryRequest) (*pluginv1.GetHistoryResponse, error) {
	historian, of, err := optional[Historian](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	before, limit, err := wire.HistoryFromProto(r)
	if err != nil {
		return nil, invalid(err)
	}
	events, err := historian.History(ctx, of, before, limit)
	if err != nil {
		return &pluginv1.GetHistoryResponse{Failure: s.failure(err)}, nil
	}
	return wire.EventsToProto(events), nil
}

// ListMembers returns the members of a group, if the channel is a [MemberLister].
func (s *channelServer) ListMembers(ctx context.Context, r *pluginv1.ListMembersRequest) (*pluginv1.ListMembersResponse, error) {
	lister, of, err := optional[MemberLister](s, r.GetAddress())
	if err != nil {
		return nil, err
	}
	if r.GetLimit() == 0 || r.GetLimit() > wire.MaxMembers {
		return nil, invalid(errors.New("limit: out of range"))
	}
	members, err := lister.Members(ctx, of, int(r.GetLimit()))
	if err != nil {
		return &pluginv1.ListMembersResponse{Failure: s.failure(err)}, nil
	}
	return wire.MembersToProto(members), nil
}

// optional returns the channel as a T, and the address of the request.
func optional[T any](s *channelServer, address *pluginv1.Address) (value T, to chat.Address, err error) {
	to, err = wire.AddressFromProto(address)
	if err != nil {
		return value, to, invalid(err)
	}
	value, err = channelAs[T](s)
	return value, to, err
}

// channelAs returns the channel as a T.
func channelAs[T any](s *channelServer) (value T, err error) {
	channel, ok := find[Channel](s.plugin, pluginv1.Capability_CAPABILITY_CHANNEL)
	if !ok {
		return value, errNotConfigured
	}
	value, ok = channel.(T)
	if !ok {
		return value, status.Error(codes.Unimplemented, "the channel has no such capability")
	}
	return value, nil
}

// failure converts a channel's error for the host.
func (p *plugin) failure(err error) *pluginv1.Failure {
	f := wire.FailureToProto(err)
	if f != nil {
		f.Message = p.redact.text(f.GetMessage())
	}
	return f
}

func invalid(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }
