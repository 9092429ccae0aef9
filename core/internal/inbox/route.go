package inbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// inbound decides what a message asks for and how it waits, and which commands are to be answered beside it; nil: none. A command goes around what runs, and one of the host's own
// around those of plugins, which may hang, and those that take their time: nothing may keep a stop waiting. A command of somebody who may not use it goes the same way, and is told so.
func (in *Inbox) inbound(ctx context.Context, a *arrival) (inbound domain.Inbound, beside *domain.Inbound, err error) {
	m, inbound := a.message, in.frame(a)
	shortcuts, err := in.understand(ctx, &m, &inbound, a)
	if err != nil {
		return domain.Inbound{}, nil, err
	}
	inbound.Message = m
	if m.Command != nil {
		in.command(&inbound)
		return inbound, nil, nil
	}
	if text := named(m.Text, a.event.Body); text != m.Text && m.Origin == "" {
		rewrite(&m, text)
		inbound.Message = m
	}
	now := in.now()
	inbound.Queue = conversation.Queueing(a.settings.Queue, m.Overrides.Queue, a.chosen.Queue)
	inbound.Reacts = a.settings.Reply.AckReaction == config.AckStatus
	inbound.Hint = &domain.Note{Kind: domain.NoteHint, At: now, Text: envelope.HintStopped}
	inbound.Expiry = expiry(a.settings.Session, a.name.Type(), now, in.options.Zone)
	inbound.Receipt = in.receipt(m)
	if !m.Fresh && m.Origin == "" {
		inbound.Burst = burst(a.settings.Inbound, m)
	}
	return inbound, in.beside(a, shortcuts), nil
}

// beside are the commands of a message that is answered by the agent, as a message of their own with an id of their own.
func (in *Inbox) beside(a *arrival, commands []domain.Command) *domain.Inbound {
	if len(commands) == 0 {
		return nil
	}
	beside := in.frame(a)
	m := &beside.Message
	m.Text, m.Raw, m.Media, m.ReplyTo = "", "", nil, nil
	for _, c := range commands {
		m.Text = strings.TrimSpace(m.Text + " /" + c.Name)
	}
	m.Command = &commands[0]
	m.Command.And = commands[1:]
	beside.EventID = chat.EventID(fmt.Sprintf("beside:%x", sha256.Sum256([]byte(a.event.ID))))
	in.command(&beside)
	return &beside
}

// frame is what the store is to take, as far as it is the same for all that is taken.
func (in *Inbox) frame(a *arrival) domain.Inbound {
	m := a.message
	inbound := domain.Inbound{EventID: a.event.ID, Session: a.key, Lane: domain.TurnLane, Message: m}
	if m.Thread != "" && !a.event.Apart {
		inbound.Parent = in.name(a.settings.Session, m.Channel, m.Chat, "", m.Sender).Key()
	}
	return inbound
}

// command says where a command waits, and that a stop of somebody who may is behind none but other stops.
func (in *Inbox) command(inbound *domain.Inbound) {
	c := inbound.Message.Command
	inbound.Lane = domain.CommandLane
	if in.options.Commands.Quick(c.Name) {
		inbound.Lane = domain.ControlLane
	}
	inbound.Urgent = c.Name == "stop" && inbound.Message.Authority >= chat.Authorised
}

// awaited makes a command of a message that answers what claude asks without being addressed to the agent. One that looks like a
// command is none: it may be another bot's.
func (in *Inbox) awaited(ctx context.Context, a *arrival) (inbound domain.Inbound, ok bool, err error) {
	inbound = in.frame(a)
	m := &inbound.Message
	text := commandText(*m)
	_, command := in.options.Commands.Parse(text)
	if _, anew := in.anew(text, a.settings.Session.ResetTriggers); anew || command {
		return inbound, false, nil
	}
	if err := in.answer(ctx, m, text, a); err != nil || m.Command == nil {
		return inbound, false, err
	}
	in.command(&inbound)
	return inbound, true, nil
}

// understand finds out what a message asks of the host: to begin anew, to stop, to do a command, to compact the
// conversation, to do something with a skill, to take an answer, or to answer under other settings. Whoever may not use commands
// has only the commands themselves understood, to be told so. In what is not addressed to the agent only commands are heeded. It
// returns those that are to be answered beside the message.
func (in *Inbox) understand(ctx context.Context, m *domain.Message, inbound *domain.Inbound, a *arrival) (beside []domain.Command, err error) {
	commands, may := in.options.Commands, m.Authority >= chat.Authorised
	text, native := asked(commandText(*m), a.settings.Access.MentionPatterns, commands), m.Command
	m.Command = nil
	// A trigger that is a word, not a command, is one only where it is said to the agent.
	if rest, ok := in.anew(text, a.settings.Session.ResetTriggers); ok && may && (a.addressed || strings.HasPrefix(text, "/")) {
		return in.begin(m, inbound, rest), nil
	}
	switch command, known := commands.Parse(text); {
	case known:
		m.Command = &command
	case may && a.addressed && commands.IsAbort(text): // also where a reason is waited for: who says stop means it
		m.Command = &domain.Command{Name: "stop"}
	default:
		directed := false
		if may && a.addressed && m.Forwarded == nil {
			beside, directed = in.direct(m, text, !copied(m.Text))
		}
		if directed {
			break
		}
		if mistyped, ok := commands.Mistyped(text); ok && may && m.Forwarded == nil && len(m.Media) == 0 && (a.addressed || m.Chat.Kind == chat.Direct) {
			m.Command = &mistyped
			break
		}
		if err := in.answer(ctx, m, text, a); err != nil {
			return nil, err
		}
	}
	if m.Command == nil && m.Raw == "" {
		m.Command = native // of a plugin that is down: a menu showed it, so it gets an answer
	}
	if m.Command != nil && m.Command.Name == "compact" && may {
		m.Text, m.Origin, m.Command = m.Command.Args, domain.OriginCompact, nil
	}
	return beside, nil
}

// answer makes a command of a message that answers what claude asks.
func (in *Inbox) answer(ctx context.Context, m *domain.Message, text string, a *arrival) error {
	if _, said := a.event.Body.(chat.Message); !said || m.Forwarded != nil || len(m.Media) > 0 {
		return nil
	}
	written := *m
	written.Text = text
	id, answer, reads, err := in.options.Questions.Reading(ctx, a.caller(), written, a.addressed)
	if reads {
		m.Command = &domain.Command{Name: "answer", Args: id + " " + answer, Plain: true}
	}
	return err
}

// anew reports whether a text asks for a new conversation, by a trigger or by a command that always does, and returns what is
// behind that.
func (in *Inbox) anew(text string, triggers []string) (rest string, ok bool) {
	if rest, ok = trigger(text, triggers); ok {
		return rest, true
	}
	command, known := in.options.Commands.Parse(text)
	return command.Args, known && (command.Name == "new" || command.Name == "reset")
}

// begin has the session begin anew: with a message, which runs in the new conversation, or, where there is none, at once. It
// returns what is to be answered beside the message.
func (in *Inbox) begin(m *domain.Message, inbound *domain.Inbound, rest string) (beside []domain.Command) {
	inbound.Model, rest = in.options.Commands.ResetHint(rest)
	if rest == "" && len(m.Media) == 0 {
		m.Command, inbound.Reset = &domain.Command{Name: "new"}, true
		return nil
	}
	rewrite(m, rest)
	beside, _ = in.direct(m, rest, false)
	m.Fresh = m.Command == nil
	inbound.Reset = !m.Fresh
	return beside
}

// direct applies the directives and the skill that a message of somebody who may use commands names, and returns the commands
// that are to be answered beside it; false: it names none of all these. Begins says that the message begins with the text.
func (in *Inbox) direct(m *domain.Message, text string, begins bool) (beside []domain.Command, ok bool) {
	// A file is something to be answered, so that directives beside it are not alone.
	const file = "\n\uFFFC"
	if len(m.Media) > 0 {
		text += file
	}
	rest, overrides, asked := in.options.Commands.Directives(text, begins, m.Authority)
	if len(asked) > 0 && rest == "" {
		m.Command = &asked[0]
		m.Command.And = asked[1:]
		return nil, true
	}
	rest = strings.TrimSpace(strings.TrimSuffix(rest, strings.TrimSpace(file)))
	prompt, skill := in.options.Commands.Skill(rest)
	switch {
	case skill:
		rest = prompt
	case len(asked) == 0 && overrides == (domain.Overrides{}):
		return nil, false
	}
	rewrite(m, rest)
	m.Overrides = overrides
	return asked, true
}

// rewrite gives a message another text for the agent, and keeps the one that was written.
func rewrite(m *domain.Message, text string) {
	m.Raw = m.Written()
	m.Text = text
}

// trigger reports whether a text is one of the triggers, or begins with one and a space, and returns what is behind it.
func trigger(text string, triggers []string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	for _, t := range triggers {
		if len(text) < len(t) || !strings.EqualFold(text[:len(t)], t) {
			continue
		}
		rest := text[len(t):]
		if rest == "" || strings.TrimLeft(rest, " \t\r\n") != rest {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// burst joins what somebody writes in quick succession. A file is not waited for: it ends the burst.
func burst(c config.Inbound, m domain.Message) domain.Burst {
	if c.Debounce <= 0 {
		return domain.Burst{}
	}
	return domain.Burst{
		Window: c.Debounce, By: string(m.Sender.ID), Messages: burstMessages, Bytes: burstBytes, Wait: burstWindows * c.Debounce,
		Now: len(m.Media) > 0,
	}
}

// expiry is when a session of this type begins anew by itself.
func expiry(c config.Session, t session.Type, now time.Time, zone *time.Location) domain.Expiry {
	idle, daily := c.IdleReset, c.DailyReset
	if own, ok := c.Reset[string(t)]; ok {
		if own.Idle != nil {
			idle = *own.Idle
		}
		if own.Daily != nil {
			daily = *own.Daily
		}
	}
	e := domain.Expiry{Idle: idle}
	if daily != config.Off {
		e.Since = session.LastDaily(int(daily), now, zone)
	}
	return e
}

// overheard is what is kept of a message that is not for the agent.
func overheard(m domain.Message) string {
	text := m.Written()
	for _, media := range m.Media {
		text = strings.TrimSpace(text + " <media:" + media.Kind.String() + ">")
	}
	return text
}
