package inbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// accept puts a message where it goes, and shows its chat and the observers that it was accepted.
func (in *Inbox) accept(ctx context.Context, a arrival, d destination) (outcome Outcome, err error) {
	if d.refused != "" {
		return rejected(d.refused), nil
	}
	if d.separate != nil { // First, so that the event is not accepted without it.
		if _, err := in.put(ctx, *d.separate); err != nil {
			return Outcome{}, err
		}
	}
	if d.inbound != nil {
		outcome, err = in.put(ctx, *d.inbound)
	} else {
		outcome, err = in.record(ctx, a, d)
	}
	if err == nil && outcome.Verdict == chat.Accepted && d.expects() {
		in.options.Early.Expect(a.key, d.inbound.Message)
	}
	if err == nil && outcome.behind {
		in.receipt(context.WithoutCancel(ctx), d.inbound.Message, outcome) // the event is accepted, even if its plugin leaves
	}
	body, said := a.event.Body.(chat.Message)
	if err != nil || outcome.Verdict != chat.Accepted || !said {
		return outcome, err
	}
	if d.observed {
		in.options.Observers.Received(in.caller(a), withoutTokens(body))
	}
	if d.inbound != nil && d.inbound.Lane == domain.TurnLane {
		in.acknowledge(ctx, a, outcome)
	}
	return outcome, nil
}

// record stores a message without a turn, and tells its writer why.
func (in *Inbox) record(ctx context.Context, a arrival, d destination) (Outcome, error) {
	m, record := a.message, *d.record
	record.EventID, record.Channel, record.Session, record.Starter = a.event.ID, m.Channel, a.key, m.Starter
	duplicate, err := in.store.RecordPassive(ctx, record)
	if err != nil {
		return Outcome{}, fmt.Errorf("record an event: %w", err)
	}
	if d.notice != "" {
		notice := domain.OutboxItem{To: m.Address(), ReplyTo: m.ID, Text: d.notice}
		if _, err := in.store.Post(ctx, domain.KeyMissingFile.Of(m.Channel, a.event.ID), notice); err != nil {
			return Outcome{}, fmt.Errorf("post why an event is only recorded: %w", err)
		}
	}
	if duplicate {
		return Outcome{Verdict: chat.Duplicate, Session: a.key}, nil
	}
	return Outcome{Verdict: chat.Accepted, Session: a.key}, nil
}

// acknowledge shows in the chat of a message that it waits for its answer, if the config wants that.
func (in *Inbox) acknowledge(ctx context.Context, a arrival, outcome Outcome) {
	caller := in.caller(a)
	if emoji := a.settings.Reply.AckReaction; a.message.ID != "" && emoji != "" && emoji != config.AckStatus {
		in.options.Reactions.Acknowledge(caller.Address, a.message.ID, emoji)
	}
	if a.settings.Reply.Typing == "instant" && in.conversations.Limits(caller.Address.Channel, caller.Kind).TypingTTL > 0 {
		in.options.Chats.Typing(caller.Address)
	}
	if outcome.running {
		in.stillOpen(ctx, caller)
	}
}

// stillOpen tells a person whose message reached a turn that waits for an answer, once for each question: otherwise
// they may think that they have answered it.
func (in *Inbox) stillOpen(ctx context.Context, caller chat.Caller) {
	id, notice, ok, err := in.options.Questions.OpenNotice(ctx, caller)
	if ok {
		_, err = in.store.Post(ctx, domain.KeyStillOpen.Of(id), in.conversations.Notice(caller.Address, caller.Kind, notice)...)
	}
	if err != nil {
		in.log.Warn("no notice that a question is still open", "question", id, "error", err)
	}
}

// withoutTokens is a message as other plugins receive it: the tokens of its files are for the channel alone.
func withoutTokens(m chat.Message) chat.Message {
	without := func(files []chat.Media) []chat.Media {
		files = slices.Clone(files)
		for i := range files {
			files[i].Token = ""
		}
		return files
	}
	m.Media = without(m.Media)
	if m.ReplyTo != nil && len(m.ReplyTo.Media) > 0 {
		quote := *m.ReplyTo
		quote.Media = without(quote.Media)
		m.ReplyTo = &quote
	}
	return m
}

// pair tells a stranger how to get access, at most once while a request is open.
func (in *Inbox) pair(ctx context.Context, a arrival) (Outcome, error) {
	now, m := in.now(), a.message
	code := access.NewCode()
	created, err := in.store.RequestPairing(ctx, domain.Pairing{
		Code: code, Channel: m.Channel, User: m.Sender.ID, Name: m.Sender.Name(), Chat: m.Chat.ID,
		CreatedAt: now, ExpiresAt: now.Add(access.CodeTTL),
	}, access.MaxPending, now.Add(-access.KeepFor), domain.OutboxItem{To: m.Address(), Text: access.Prompt(m.Channel, m.Sender.ID, code)})
	if err != nil {
		return Outcome{}, fmt.Errorf("ask for pairing: %w", err)
	}
	if created {
		in.log.Info("a stranger asks for access; `clawhost pairing list` shows the code", "channel", m.Channel, "user", m.Sender.ID)
		in.options.Owners.StrangerAsks(m.Channel)
	}
	return rejected(a.access.Reason), nil
}
