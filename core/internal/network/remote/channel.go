package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ErrTerminal is returned by Configure and Run (see [errors.Is]) if a restart does not help: a person must correct the
// credentials, or log in.
var ErrTerminal = errors.New("the account needs attention")

// terminalError is an ErrTerminal with only the plugin's text.
type terminalError struct{ message string }

// Error implements error.
func (e terminalError) Error() string { return e.message }

// Is reports whether target is ErrTerminal.
func (terminalError) Is(target error) bool { return target == ErrTerminal }

const (
	// maxRetryAfter is the maximum wait that a network may request before a retry.
	maxRetryAfter = 24 * time.Hour
	// minTyping is the minimum display time of a typing signal, which is also the interval of its repetition.
	minTyping = time.Second
	// menuTimeout limits how long a channel may take to update its network's menu.
	menuTimeout = 30 * time.Second
	// maxSteps limits the steps of a login.
	maxSteps = 1000
)

// Report is the state of a channel's connection.
type Report struct {
	State  chat.State
	Detail string
	URL    string // the address of the channel's page, in printable ASCII; it may contain a secret
}

// Run runs the channel until ctx ends, and passes its reports on. It returns nil only if ctx ended.
func (p *Plugin) Run(ctx context.Context, report func(Report)) error {
	stream, err := p.channel.Run(ctx, &pluginv1.RunRequest{})
	if err != nil {
		return translate(err)
	}
	for {
		response, err := stream.Recv()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the channel ended by itself")
		case err != nil:
			return translate(err)
		}
		state, err := wire.StateFromProto(response.GetState())
		if err != nil {
			continue // a state of a newer protocol
		}
		report(Report{State: state, Detail: wire.Cut(response.GetDetail(), wire.MaxDetail), URL: openable(response.GetOpenUrl())})
	}
}

// openable returns an address unchanged if it is a web address that is safe to print on a terminal; otherwise "".
func openable(address string) string {
	u, err := url.Parse(address)
	odd := strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' })
	if err != nil || odd || len(address) > wire.MaxDetail || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

// Limits returns the limits of the described channel in one kind of chat.
func (p *Plugin) Limits(ctx context.Context, d Description, kind chat.Kind) (chat.Limits, error) {
	response, err := p.channel.GetCapabilities(ctx, &pluginv1.GetCapabilitiesRequest{ChatKind: wire.KindToProto(kind)})
	if err != nil {
		return chat.Limits{}, translate(err)
	}
	limits, err := wire.LimitsFromProto(response)
	if limits.TypingTTL > 0 {
		limits.TypingTTL = max(limits.TypingTTL, minTyping)
	}
	limits.Draft = d.draft(limits.Draft)
	return limits, err
}

// draft returns which drafts a channel can show that claims these.
func (d Description) draft(claimed chat.Draft) chat.Draft {
	switch {
	case claimed == chat.NativeDraft && d.Can(Draft):
		return chat.NativeDraft
	case (claimed == chat.NativeDraft || claimed == chat.DraftByEdit) && d.Can(Edit):
		return chat.DraftByEdit
	default:
		return chat.NoDraft
	}
}

// Send sends a message. An error that is not a [*chat.Failure] means that the outcome is unknown.
func (p *Plugin) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	response, err := p.channel.SendMessage(ctx, wire.OutgoingToProto(out))
	if err != nil {
		return chat.Receipt{}, translate(err)
	}
	switch outcome := response.GetOutcome().(type) {
	case *pluginv1.SendMessageResponse_Sent:
		receipt, err := wire.ReceiptFromProto(outcome.Sent)
		if err != nil {
			return chat.Receipt{}, nil // it was sent, although its ids are invalid: after an error it would be sent again
		}
		return receipt, nil
	case *pluginv1.SendMessageResponse_Failure:
		return chat.Receipt{}, failure(outcome.Failure)
	default:
		return chat.Receipt{}, errors.New("the plugin's response says neither sent nor failed")
	}
}

// Typing shows in a chat whether an answer is being written.
func (p *Plugin) Typing(ctx context.Context, to chat.Address, active bool) error {
	response, err := p.channel.SetTyping(ctx, &pluginv1.SetTypingRequest{Address: wire.AddressToProto(to), Active: active})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Edit edits a message of the channel; without buttons it removes the message's buttons. An error that is neither a
// [*chat.Failure] nor an [errors.ErrUnsupported] means that the outcome is unknown.
func (p *Plugin) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	response, err := p.channel.EditMessage(ctx, &pluginv1.EditMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id), Text: wire.Repair(text), Buttons: wire.ButtonsToProto(buttons),
	})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Delete deletes a message that the channel sent.
func (p *Plugin) Delete(ctx context.Context, to chat.Address, id chat.MessageID) error {
	response, err := p.channel.DeleteMessage(ctx, &pluginv1.DeleteMessageRequest{Address: wire.AddressToProto(to), MessageId: string(id)})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// React reacts to a message; an empty emoji removes the channel's own reaction.
func (p *Plugin) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	response, err := p.channel.ReactToMessage(ctx, &pluginv1.ReactToMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id), Emoji: wire.Repair(emoji),
	})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Pin pins a message that the channel sent, or unpins it.
func (p *Plugin) Pin(ctx context.Context, to chat.Address, id chat.MessageID, pinned bool) error {
	response, err := p.channel.PinMessage(ctx, &pluginv1.PinMessageRequest{Address: wire.AddressToProto(to), MessageId: string(id), Pinned: pinned})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Draft shows an answer before it is sent, if the network has drafts. DraftID is a nonzero number per answer; text is the
// whole text so far, and empty when the answer has just begun.
func (p *Plugin) Draft(ctx context.Context, to chat.Address, draftID int64, text string) error {
	response, err := p.channel.UpdateDraft(ctx, &pluginv1.UpdateDraftRequest{
		Address: wire.AddressToProto(to), DraftId: draftID, Text: wire.Repair(text),
	})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// History returns what was said in a chat before a message, oldest first, if the channel can read it.
func (p *Plugin) History(ctx context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	response, err := p.channel.GetHistory(ctx, wire.HistoryToProto(of, before, limit))
	if err != nil {
		return nil, translate(err)
	}
	if err := failure(response.GetFailure()); err != nil {
		return nil, err
	}
	return wire.EventsFromProto(response)
}

// Members returns at most so many members of a group. The error is [errors.ErrUnsupported] if the channel cannot list them.
func (p *Plugin) Members(ctx context.Context, of chat.Address, limit int) (chat.Members, error) {
	response, err := p.channel.ListMembers(ctx, &pluginv1.ListMembersRequest{
		Address: wire.AddressToProto(of),
		Limit:   uint32(min(limit, wire.MaxMembers)),
	})
	if err != nil {
		return chat.Members{}, translate(err)
	}
	if err := failure(response.GetFailure()); err != nil {
		return chat.Members{}, err
	}
	return wire.MembersFromProto(response)
}

// SetCommands sets the network's menu to the first [wire.MaxMenu] of the commands, within 30 seconds. A refusal of the
// network is a [*chat.Failure].
func (p *Plugin) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	ctx, cancel := context.WithTimeout(ctx, menuTimeout)
	defer cancel()
	response, err := p.channel.SetCommands(ctx, wire.SetCommandsToProto(commands))
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Login logs in to an account and passes on the steps that a person must do. An empty account without an error means that
// the last step asks for an answer, with which Login is called again. An error that the person can fix is a
// [*chat.Failure]. Ctx ends it.
func (p *Plugin) Login(ctx context.Context, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.channel.Login(ctx, &pluginv1.LoginRequest{Answers: answers})
	if err != nil {
		return "", translate(err)
	}
	for range maxSteps {
		response, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil:
			return "", translate(err)
		}
		step, account, err := wire.LoginFromProto(response)
		if err != nil || step == nil {
			return account, err
		}
		show(*step)
	}
	return "", fmt.Errorf("the login has more than %d steps", maxSteps)
}

// failure converts a network's refusal, with a limited wait.
func failure(p *pluginv1.Failure) error {
	err := wire.FailureFromProto(p)
	if f := (*chat.Failure)(nil); errors.As(err, &f) {
		f.RetryAfter = min(f.RetryAfter, maxRetryAfter)
	}
	return err
}
