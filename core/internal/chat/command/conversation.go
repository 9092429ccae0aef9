package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// fresh reports the new claude session, which began when the command was accepted. A running turn ends in the old one,
// and its answer is still sent.
func (d hostCommands) fresh(ctx context.Context, call Call) (string, error) {
	running, _, err := d.store.Lane(ctx, call.Caller.Session, domain.TurnLane)
	if err != nil {
		return "", fmt.Errorf("look for a running turn: %w", err)
	}
	model := ""
	if call.Session.Overrides.Model != "" {
		model = wording.ModelName(d.effective(call).Model)
	}
	return wording.NewConversation(model, !running.IsZero()), nil
}

// stop stops all agents of the conversation. It says "stopped" only when it is true: Stop returns after the turn and its tools have ended,
// except for processes that the kernel does not end within two seconds of being killed. It does not affect
// messages that came after the command, which may have waited in its lane.
func (d hostCommands) stop(ctx context.Context, call Call) (string, error) {
	dropped := 0
	sessions, err := d.sessions(ctx, call)
	if err != nil {
		return "", fmt.Errorf("look for what waits: %w", err)
	}
	switch strings.ToLower(call.Args) {
	case "keep":
	case "":
		for _, session := range sessions {
			waited, err := d.clear(ctx, session, call.At)
			if err != nil {
				return "", fmt.Errorf("drop what waits: %w", err)
			}
			dropped += waited
		}
	default:
		return wording.UnknownArgument("stop", call.Args, wording.StopOptions), nil
	}
	stopped, err := d.turns.Stop(ctx, call.At, sessions...)
	if errors.Is(err, context.DeadlineExceeded) {
		return wording.NotStoppedYet, nil
	}
	if err != nil {
		return "", fmt.Errorf("stop the turn: %w", err)
	}
	return wording.Stopped(stopped, dropped) + d.going(ctx, call), nil
}

// clear drops what waits in a session.
func (d hostCommands) clear(ctx context.Context, session string, before time.Time) (dropped int, err error) {
	for _, lane := range []domain.Lane{domain.TurnLane, domain.ShellLane} {
		running, waiting, err := d.store.Lane(ctx, session, lane)
		if err != nil {
			return dropped, err
		}
		if running.IsZero() && waiting == 0 {
			continue
		}
		waited, err := d.store.Clear(ctx, session, lane, before)
		if err != nil {
			return dropped, err
		}
		dropped += waited
	}
	return dropped, nil
}

// aside answers a side question during the running turn.
func (d hostCommands) aside(ctx context.Context, call Call) (string, error) {
	if call.Args == "" {
		return wording.AsideUsage, nil
	}
	written, err := d.host.Claude.Aside(ctx, call.Session.ClaudeSession, call.Args)
	said := answer.Parse(written, true).Text // without markers for the host
	switch {
	case errors.Is(err, client.ErrNoAside):
		return wording.AsideNotSupported, nil
	case errors.Is(err, client.ErrNotRunning):
		return wording.AsideNothingRuns, nil
	case errors.Is(err, context.DeadlineExceeded):
		return wording.AsideTimedOut, nil
	case err != nil:
		return "", err
	case strings.TrimSpace(said) == "":
		return wording.AsideNoAnswer, nil
	}
	return said, nil
}

// next moves a waiting message to the front.
func (d hostCommands) next(ctx context.Context, call Call) (string, error) {
	return d.waiting(ctx, call, d.store.Next, wording.MessageIsNext)
}

// withdraw removes a waiting message. People who may not use commands may withdraw their own.
func (d hostCommands) withdraw(ctx context.Context, call Call) (string, error) {
	author := &domain.Author{Channel: call.Caller.Address.Channel, ID: call.Caller.Sender.ID}
	if call.Caller.Authority >= chat.Authorised {
		author = nil
	}
	said, err := d.waiting(ctx, call, func(ctx context.Context, session string, seq int64) error {
		return d.store.Withdraw(ctx, session, seq, author)
	}, wording.MessageWithdrawn)
	if errors.Is(err, domain.ErrNotYours) {
		return wording.MessageNotYours, nil
	}
	return said, err
}

// waiting acts on a waiting message, given by its number in the session.
func (d hostCommands) waiting(
	ctx context.Context, call Call, do func(ctx context.Context, session string, seq int64) error, done string,
) (string, error) {
	seq, err := strconv.ParseInt(call.Args, 10, 64)
	if err != nil || seq < 1 {
		return wording.WhichMessage(call.Name), nil
	}
	err = do(ctx, call.Caller.Session, seq)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return wording.MessageNotWaiting, nil
	case errors.Is(err, domain.ErrHeld):
		return wording.MessageHeld, nil
	}
	return done, err
}

// session shows the conversation, or sets its label.
func (d hostCommands) session(ctx context.Context, call Call) (string, error) {
	switch word := firstWord(call.Args); strings.ToLower(word) {
	case "":
		by := call.Caller
		wait, _ := d.host.Debounce.Last(by.Session, by.Address.Channel, by.Sender.ID)
		return wording.Session(call.Session, d.agentOf(call), wait, d.host.Now().In(d.host.Zone)), nil
	case "label":
		return d.label(ctx, call, wording.OneLine(call.Args[len(word):], utf8.RuneCountInString(call.Args)+1))
	default:
		return wording.UnknownArgument("session", call.Args, wording.SessionOptions), nil
	}
}

func (d hostCommands) label(ctx context.Context, call Call, label string) (string, error) {
	switch label {
	case "":
		return wording.LabelUsage, nil
	case "-":
		label = ""
	default:
		if _, err := session.ParseLabel(label); err != nil {
			return wording.BadLabel(err), nil
		}
	}
	if err := d.store.SetLabel(ctx, call.Caller.Session, label); err != nil {
		return "", err
	}
	if label == "" {
		return wording.LabelRemoved, nil
	}
	return wording.LabelSet(label), nil
}
