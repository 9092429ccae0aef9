package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ErrTerminal is what Configure and Run return, by [errors.Is], when a restart does not help: a person has to correct the
// credentials, or to log in.
var ErrTerminal = errors.New("the account needs attention")

// terminalError is an ErrTerminal that says no more than the plugin did.
type terminalError struct{ message string }

// Error implements error.
func (e terminalError) Error() string { return e.message }

// Is makes it an ErrTerminal.
func (terminalError) Is(target error) bool { return target == ErrTerminal }

const (
	// maxRetryAfter is the longest that a network may have the host wait before the next try.
	maxRetryAfter = 24 * time.Hour
	// minTyping is the shortest time that a typing signal is taken to show: it is repeated as often.
	minTyping = time.Second
	// menuTimeout is how long a channel may take to fill its network's menu.
	menuTimeout = 30 * time.Second
	// maxSteps is how many steps a login may show.
	maxSteps = 1000
)

// Report is the state of a channel's connection.
type Report struct {
	State  chat.State
	Detail string
	URL    string // where a person opens the channel, in printable ASCII; it may hold a secret
}

// Run has the channel connect and receive until ctx ends, and passes its reports on. It returns nil only if ctx ended.
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

// openable returns an address as it is if it is one of the web and a terminal shows it as it is; else none.
func openable(address string) string {
	u, err := url.Parse(address)
	odd := strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' })
	if err != nil || odd || len(address) > wire.MaxDetail || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

// Limits asks what the channel can in one kind of chat.
func (p *Plugin) Limits(ctx context.Context, kind chat.Kind) (chat.Limits, error) {
	response, err := p.channel.GetCapabilities(ctx, &pluginv1.GetCapabilitiesRequest{ChatKind: wire.KindToProto(kind)})
	if err != nil {
		return chat.Limits{}, translate(err)
	}
	limits, err := wire.LimitsFromProto(response)
	if limits.TypingTTL > 0 {
		limits.TypingTTL = max(limits.TypingTTL, minTyping)
	}
	return limits, err
}

// Send sends a message. An error that is no [*chat.Failure] means that the outcome is not known.
func (p *Plugin) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	response, err := p.channel.SendMessage(ctx, wire.OutgoingToProto(out))
	if err != nil {
		return chat.Receipt{}, translate(err)
	}
	switch outcome := response.GetOutcome().(type) {
	case *pluginv1.SendMessageResponse_Sent:
		receipt, err := wire.ReceiptFromProto(outcome.Sent)
		if err != nil {
			return chat.Receipt{}, nil // it was sent, though its ids are of no use: an error would send it again
		}
		return receipt, nil
	case *pluginv1.SendMessageResponse_Failure:
		return chat.Receipt{}, failure(outcome.Failure)
	default:
		return chat.Receipt{}, errors.New("the plugin answered neither sent nor failed")
	}
}

// Typing shows in a chat that an answer is being written, or no longer.
func (p *Plugin) Typing(ctx context.Context, to chat.Address, active bool) error {
	response, err := p.channel.SetTyping(ctx, &pluginv1.SetTypingRequest{Address: wire.AddressToProto(to), Active: active})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Edit changes a message that the channel sent; without buttons it loses those it had. An error that is no [*chat.Failure]
// and no [errors.ErrUnsupported] means that the outcome is not known.
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

// React puts an emoji on a message; an empty emoji takes the channel's own back.
func (p *Plugin) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	response, err := p.channel.ReactToMessage(ctx, &pluginv1.ReactToMessageRequest{
		Address: wire.AddressToProto(to), MessageId: string(id), Emoji: wire.Repair(emoji),
	})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Draft shows what is about to be sent, where the network has drafts. DraftID is one number an answer and not zero; text is
// all there is so far, and empty when the answer has just begun.
func (p *Plugin) Draft(ctx context.Context, to chat.Address, draftID int64, text string) error {
	response, err := p.channel.UpdateDraft(ctx, &pluginv1.UpdateDraftRequest{
		Address: wire.AddressToProto(to), DraftId: draftID, Text: wire.Repair(text),
	})
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// SetCommands has the channel show these commands, the first [wire.MaxMenu] of them, in its network's menu, within 30
// seconds. A refusal of the network is a [*chat.Failure].
func (p *Plugin) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	ctx, cancel := context.WithTimeout(ctx, menuTimeout)
	defer cancel()
	response, err := p.channel.SetCommands(ctx, wire.SetCommandsToProto(commands))
	if err != nil {
		return translate(err)
	}
	return failure(response.GetFailure())
}

// Login logs in to an account and passes the steps on that a person has to do. An empty account without an error means that
// the last step asks for an answer, with which Login is called again. A refusal that the person can mend is a
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

// failure returns a network's refusal, with a patience that ends.
func failure(p *pluginv1.Failure) error {
	err := wire.FailureFromProto(p)
	if f := (*chat.Failure)(nil); errors.As(err, &f) {
		f.RetryAfter = min(f.RetryAfter, maxRetryAfter)
	}
	return err
}
