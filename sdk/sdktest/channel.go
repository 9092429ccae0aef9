package sdktest

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Limits returns the channel's limits for a kind of chat. It also works before Configure.
func (h *Harness) Limits(kind chat.Kind) chat.Limits {
	h.t.Helper()
	r, err := h.channel.GetCapabilities(h.t.Context(), &pluginv1.GetCapabilitiesRequest{ChatKind: wire.KindToProto(kind)})
	if err != nil {
		h.t.Fatalf("GetCapabilities: %v", h.note(err))
	}
	limits, err := wire.LimitsFromProto(r)
	if err != nil {
		h.t.Fatalf("GetCapabilities: %v", err)
	}
	return limits
}

// Send calls the channel's Send. The error is a [*chat.Failure], or a gRPC error if the plugin failed.
func (h *Harness) Send(out chat.Outgoing) (chat.Receipt, error) {
	h.t.Helper()
	r, err := h.channel.SendMessage(h.t.Context(), wire.OutgoingToProto(out))
	if err != nil {
		return chat.Receipt{}, h.note(err)
	}
	if failure := r.GetFailure(); failure != nil {
		if failure.GetReason() == 0 || failure.GetDelivery() == 0 {
			h.t.Errorf("a failure without reason or delivery: %v", failure)
		}
		return chat.Receipt{}, h.note(wire.FailureFromProto(failure))
	}
	receipt, err := wire.ReceiptFromProto(r.GetSent())
	if err != nil {
		h.t.Fatalf("SendMessage: %v", err)
	}
	return receipt, nil
}

// Edit calls the channel's Edit.
func (h *Harness) Edit(to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	h.t.Helper()
	r, err := h.channel.EditMessage(h.t.Context(), &pluginv1.EditMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id), Text: text, Buttons: wire.ButtonsToProto(buttons),
	})
	return h.outcome(r.GetFailure(), err)
}

// Delete calls the channel's Delete.
func (h *Harness) Delete(to chat.Address, id chat.MessageID) error {
	h.t.Helper()
	r, err := h.channel.DeleteMessage(h.t.Context(), &pluginv1.DeleteMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id),
	})
	return h.outcome(r.GetFailure(), err)
}

// React calls the channel's React.
func (h *Harness) React(to chat.Address, id chat.MessageID, emoji string) error {
	h.t.Helper()
	r, err := h.channel.ReactToMessage(h.t.Context(), &pluginv1.ReactToMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id), Emoji: emoji,
	})
	return h.outcome(r.GetFailure(), err)
}

// Pin calls the channel's Pin.
func (h *Harness) Pin(to chat.Address, id chat.MessageID, pinned bool) error {
	h.t.Helper()
	r, err := h.channel.PinMessage(h.t.Context(), &pluginv1.PinMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id), Pinned: pinned,
	})
	return h.outcome(r.GetFailure(), err)
}

// Typing calls the channel's Typing.
func (h *Harness) Typing(to chat.Address, active bool) error {
	h.t.Helper()
	r, err := h.channel.SetTyping(h.t.Context(), &pluginv1.SetTypingRequest{Address: wire.AddressToProto(to), Active: active})
	return h.outcome(r.GetFailure(), err)
}

// Draft calls the channel's Draft.
func (h *Harness) Draft(to chat.Address, draftID int64, text string) error {
	h.t.Helper()
	r, err := h.channel.UpdateDraft(h.t.Context(), &pluginv1.UpdateDraftRequest{
		Address: wire.AddressToProto(to), DraftId: draftID, Text: text,
	})
	return h.outcome(r.GetFailure(), err)
}

// History calls the channel's History.
func (h *Harness) History(of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	h.t.Helper()
	r, err := h.channel.GetHistory(h.t.Context(), wire.HistoryToProto(of, before, limit))
	if err := h.outcome(r.GetFailure(), err); err != nil {
		return nil, err
	}
	return wire.EventsFromProto(r)
}

// Members calls the channel's Members.
func (h *Harness) Members(of chat.Address, limit int) (chat.Members, error) {
	h.t.Helper()
	r, err := h.channel.ListMembers(h.t.Context(), &pluginv1.ListMembersRequest{Address: wire.AddressToProto(of), Limit: uint32(limit)})
	if err := h.outcome(r.GetFailure(), err); err != nil {
		return chat.Members{}, err
	}
	return wire.MembersFromProto(r)
}

// SetCommands calls the channel's SetCommands.
func (h *Harness) SetCommands(commands ...chat.CommandSpec) error {
	h.t.Helper()
	r, err := h.channel.SetCommands(h.t.Context(), wire.SetCommandsToProto(commands))
	return h.outcome(r.GetFailure(), err)
}

// Login calls the channel's Login. The answers are those to previous input steps; an empty account without an error means
// that the last step asks for another one.
func (h *Harness) Login(ctx context.Context, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	h.t.Helper()
	stream, err := h.channel.Login(ctx, &pluginv1.LoginRequest{Answers: answers})
	for err == nil {
		var r *pluginv1.LoginResponse
		if r, err = stream.Recv(); errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			break
		}
		step, account, err := wire.LoginFromProto(r)
		if err != nil || step == nil {
			return account, h.note(err)
		}
		show(*step)
	}
	return "", h.note(err)
}

func (h *Harness) outcome(failure *pluginv1.Failure, err error) error {
	if err != nil {
		return h.note(err)
	}
	return h.note(wire.FailureFromProto(failure))
}

// NextEvent returns the next event that the host accepted, and fails the test if none comes.
func (h *Harness) NextEvent() chat.Event {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	e, err := h.Host.next(ctx)
	if err != nil {
		h.t.Fatalf("no event within %v; submitted: %s", patience, shown(h.Host.Submissions()))
	}
	return e
}

// NextTyping returns the next hint that a person is typing, taken or not, and fails the test if none comes.
func (h *Harness) NextTyping() chat.Typing {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	t, err := h.Host.nextTyping(ctx)
	if err != nil {
		h.t.Fatalf("no hint within %v that a person is typing; so far: %s", patience, shown(h.Host.Typings()))
	}
	return t
}

// State is a state of the connection that a channel reported.
type State struct {
	State  chat.State
	Detail string
	URL    string
}

// Run is a running channel.
type Run struct {
	h      *Harness
	cancel context.CancelFunc
	states chan State
	last   State         // returned by NextState
	ended  chan struct{} // closed when the stream has ended
	err    error         // why; nil after Stop
}

// Run starts the channel.
func (h *Harness) Run() *Run {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	stream, err := h.channel.Run(ctx, &pluginv1.RunRequest{})
	if err != nil {
		cancel()
		h.t.Fatalf("Run: %v", h.note(err))
	}
	r := &Run{h: h, cancel: cancel, states: make(chan State, 1024), ended: make(chan struct{})}
	go r.receive(ctx, stream)
	h.t.Cleanup(cancel)
	return r
}

func (r *Run) receive(ctx context.Context, stream grpc.ServerStreamingClient[pluginv1.RunResponse]) {
	defer close(r.ended)
	for {
		response, err := stream.Recv()
		if err != nil {
			if ctx.Err() == nil {
				r.err = r.h.note(err)
			}
			return
		}
		state, err := wire.StateFromProto(response.GetState())
		if err != nil {
			r.err = err
			return
		}
		_, _ = r.h.logs.errors.Write([]byte(response.GetDetail() + "\n"))
		select {
		case r.states <- State{State: state, Detail: response.GetDetail(), URL: response.GetOpenUrl()}:
		case <-ctx.Done():
			return
		}
	}
}

// NextState returns the next state that the channel reports, and fails the test if none comes.
func (r *Run) NextState() State {
	r.h.t.Helper()
	select {
	case s := <-r.states:
		r.last = s
		return s
	case <-time.After(patience):
		r.h.t.Fatalf("the channel reported no state within %v; the last one was %q %q", patience, r.last.State, r.last.Detail)
		return State{}
	}
}

// WaitFor waits for a state and returns it; it skips others.
func (r *Run) WaitFor(state chat.State) State {
	r.h.t.Helper()
	for {
		if s := r.NextState(); s.State == state {
			return s
		}
	}
}

// waitForNot waits for any state other than the given one.
func (r *Run) waitForNot(state chat.State) {
	r.h.t.Helper()
	for r.NextState().State == state {
	}
}

// endsWithin limits how long a channel's Run may take to return once its context has ended.
const endsWithin = 5 * time.Second

// Stop ends the channel's context and waits until Run has returned in the plugin, which must be within 5 seconds.
func (r *Run) Stop() {
	r.h.t.Helper()
	r.cancel()
	<-r.ended
	select {
	case <-r.h.runs:
	case <-time.After(endsWithin):
		r.h.t.Fatalf("Run did not return within %v after the end of its context", endsWithin)
	}
}

// Wait waits until Run ends by itself and returns its error.
func (r *Run) Wait() error {
	r.h.t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(patience):
		r.h.t.Fatalf("Run did not end within %v", patience)
		return nil
	}
}
