package inbox

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/normalise"
	"github.com/clawhost/clawhost/sdk/chat"
)

// edit replaces the text of a message that waits, or that was steered into the running turn and not read. A message
// that was read or answered is left unchanged. The host trusts the network that only permitted people edit. If the new text
// cannot wait in the same place, because it is a command or its writer's authority has changed, the message is
// withdrawn.
func (in *Inbox) edit(ctx context.Context, channel string, e chat.Event, body chat.Edited) (Outcome, error) {
	found, err := in.store.Find(ctx, channel, e.Chat.ID, body.ID)
	old := found.Message
	steered := found.Standing == domain.StandingSteered && body.Text != old.Written() // otherwise only its formatting has changed
	if err != nil || found.Standing != domain.StandingWaiting && !steered {
		return changed(found.Standing, err)
	}
	said := chat.Message{
		ID: body.ID, Text: body.Text, Mentions: body.Mentions,
		Media: old.Media, ReplyTo: old.ReplyTo, Forwarded: old.Forwarded, ThreadStarter: old.Starter,
	}
	e.Body = said
	message, ok := normalise.Event(channel, e)
	if !ok {
		return rejected("there is nothing to read in it"), nil
	}
	a, err := in.authorise(ctx, e, message)
	if err == nil && a.access.Action == access.RecordPassive { // It was for the agent, otherwise it would not wait.
		said.MentionsSelf = true
		e.Body = said
		a, err = in.authorise(ctx, e, message)
	}
	if err != nil {
		return Outcome{}, err
	}
	if a.access.Action != access.Let {
		return rejected(a.access.Reason), nil
	}
	a.event.Body = body
	a, intent, err := in.interpret(ctx, a)
	if err != nil {
		return Outcome{}, err
	}
	elsewhere := a.key != found.Session // also if neither text names its agent, but people have chosen another one since
	now := in.inbound(a, intent)        // an edit runs no commands
	late := domain.OutboxItem{To: old.Address(), ReplyTo: old.ID, Text: wording.EditedLate}
	unread, ok := in.withdrawSteered(ctx, found)
	if !ok {
		return in.late(ctx, channel, e, late)
	}
	var standing domain.Standing
	switch {
	case a.message.Authority != old.Authority:
		standing, err = in.takeBack(ctx, old, unread, wording.EditedRights)
	case now.Message.Command != nil, elsewhere && a.message.Named:
		standing, err = in.takeBack(ctx, old, unread, wording.EditedToCommand)
	case elsewhere && old.Named:
		standing, err = in.takeBack(ctx, old, unread, wording.EditedToOther)
	default:
		m := now.Message
		old.Text, old.Raw, old.Overrides, old.Origin, old.Fresh, old.Named = m.Text, m.Raw, m.Overrides, m.Origin, m.Fresh, m.Named
		if steered {
			old.Edition = e.ID
		}
		standing, err = in.store.Amend(ctx, old, now.Model, unread)
	}
	if steered && err == nil && standing != domain.StandingWaiting { // such as when another turn has it by now
		return in.late(ctx, channel, e, late)
	}
	return changed(standing, err)
}

// withdrawSteered withdraws a message that was steered into the running turn, and returns the run that has not read it;
// zero: it was not steered. False: it was read.
func (in *Inbox) withdrawSteered(ctx context.Context, f domain.Found) (unread int64, ok bool) {
	if f.Standing != domain.StandingSteered {
		return 0, true
	}
	return f.Run, in.claude.Withdraw(ctx, f.ClaudeSession, f.UUID)
}

// takeBack drops a message that waits, or that was steered into the run unread, which has not read it, and tells its writer why.
func (in *Inbox) takeBack(ctx context.Context, m domain.Message, unread int64, why string) (domain.Standing, error) {
	return in.store.WithdrawMessage(ctx, m.Channel, m.Chat.ID, m.ID, unread, domain.OutboxItem{To: m.Address(), ReplyTo: m.ID, Text: why})
}

// delete withdraws a message that waits, or that was steered into the running turn and not read. A message that was
// read or answered is left unchanged.
func (in *Inbox) delete(ctx context.Context, channel string, e chat.Event, body chat.Deleted) (Outcome, error) {
	found, err := in.store.Find(ctx, channel, e.Chat.ID, body.ID)
	if err != nil {
		return changed(found.Standing, err)
	}
	late := domain.OutboxItem{To: found.Message.Address(), Text: wording.DeletedLate}
	unread, ok := in.withdrawSteered(ctx, found)
	if !ok {
		return in.late(ctx, channel, e, late)
	}
	standing, err := in.store.WithdrawMessage(ctx, channel, e.Chat.ID, body.ID, unread)
	if unread != 0 && err == nil && standing != domain.StandingWaiting {
		return in.late(ctx, channel, e, late)
	}
	return changed(standing, err)
}

// late tells a chat, once, that a change came too late because the running turn has read the message.
func (in *Inbox) late(ctx context.Context, channel string, e chat.Event, notice domain.OutboxItem) (Outcome, error) {
	if _, err := in.store.Post(ctx, domain.KeyLateChange.Of(channel, e.ID), notice); err != nil {
		return Outcome{}, fmt.Errorf("post a notice of a late change: %w", err)
	}
	return changed(domain.StandingSteered, nil)
}

// changed is the outcome of a change to a message with this standing.
func changed(standing domain.Standing, err error) (Outcome, error) {
	switch {
	case err != nil:
		return Outcome{}, fmt.Errorf("change a message that waits: %w", err)
	case standing != domain.StandingWaiting:
		return rejected("the message does not wait"), nil
	}
	return Outcome{Verdict: chat.Accepted}, nil
}
