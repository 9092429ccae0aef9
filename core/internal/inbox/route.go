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
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// inbound decides what a message asks for and where it waits, and returns the commands in it that are answered besides; nil: none.
// Commands have their own lanes: nothing may delay a stop. A command of a person who may not use it takes the same way, and its answer says so.
func (in *Inbox) inbound(ctx context.Context, a *arrival) (inbound domain.Inbound, beside *domain.Inbound, err error) {
	m, inbound := a.message, in.frame(a)
	var shortcuts []domain.Command
	if m.Pressed == nil { // The agent chose the label: it asks nothing of the host.
		if shortcuts, err = in.understand(ctx, &m, &inbound, a); err != nil {
			return domain.Inbound{}, nil, err
		}
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
	inbound.Reacts = a.settings.Reply.AckReaction == config.AckStatus && m.ID != ""
	inbound.Hint = &domain.Note{Kind: domain.NoteHint, At: now, Text: domain.HintStopped}
	inbound.Expiry = expiry(a.settings.Session, a.name.Type(), now, in.options.Zone)
	inbound.Receipt = in.receipt(m)
	if !m.Fresh && m.Origin == "" && m.Pressed == nil {
		inbound.Burst = burst(a.settings.Inbound, m)
	}
	return inbound, in.beside(a, shortcuts), nil
}

// beside makes a separate message, with its own id, of the commands in a message that the agent answers.
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

// frame returns the fields that are the same for everything that the store accepts.
func (in *Inbox) frame(a *arrival) domain.Inbound {
	m := a.message
	inbound := domain.Inbound{EventID: a.event.ID, Session: a.key, Lane: domain.TurnLane, Message: m}
	if m.Thread != "" && !a.event.Isolated {
		inbound.Parent = in.name(a.settings.Session, m.Channel, m.Chat, "", m.Sender).Key()
	}
	return inbound
}

// command chooses the lane of a command. A permitted stop waits only for other stops.
func (in *Inbox) command(inbound *domain.Inbound) {
	c := inbound.Message.Command
	inbound.Lane = in.options.Commands.Lane(c.Name, inbound.Message.Authority)
	inbound.Urgent = c.Name == "stop" && inbound.Message.Authority >= chat.Authorised
}

// awaited turns a message that answers claude's question, without being addressed to the agent, into a command. A text that
// looks like a command is excluded: it may be for another bot.
func (in *Inbox) awaited(ctx context.Context, a *arrival) (inbound domain.Inbound, ok bool, err error) {
	inbound = in.frame(a)
	m := &inbound.Message
	text := commandText(*m)
	_, command := in.options.Commands.Parse(text)
	if _, reset := in.asksReset(text, a.settings.Session.ResetTriggers); reset || command {
		return inbound, false, nil
	}
	if err := in.answer(ctx, m, text, a); err != nil || m.Command == nil {
		return inbound, false, err
	}
	in.command(&inbound)
	return inbound, true, nil
}

// understand recognises what a message asks of the host: a new conversation, a stop, a command, a compaction, a skill,
// an answer to a question, or settings for its own answer. For a person who may not use commands it recognises only the
// commands, so that the answer can say so. Messages that are not addressed to the agent may contain only commands. It
// returns the commands to be answered besides the message.
func (in *Inbox) understand(ctx context.Context, m *domain.Message, inbound *domain.Inbound, a *arrival) (beside []domain.Command, err error) {
	commands, may := in.options.Commands, m.Authority >= chat.Authorised
	text, native := asked(commandText(*m), a.settings.Access.MentionPatterns, commands), m.Command
	m.Command = nil
	// A trigger that is a word, not a command, counts only if it is addressed to the agent.
	if rest, ok := in.asksReset(text, a.settings.Session.ResetTriggers); ok && may && (a.addressed || strings.HasPrefix(text, "/")) {
		return in.begin(m, inbound, rest), nil
	}
	switch command, known := commands.Parse(text); {
	case known:
		m.Command = &command
	case may && a.addressed && commands.IsAbort(text): // even while a reason is awaited: stop means stop
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

// answer turns a message that answers claude's question into a command.
func (in *Inbox) answer(ctx context.Context, m *domain.Message, text string, a *arrival) error {
	if _, said := a.event.Body.(chat.Message); !said || m.Forwarded != nil || len(m.Media) > 0 {
		return nil
	}
	written := *m
	written.Text = text
	id, answer, reads, err := in.options.Questions.ParseAnswer(ctx, a.caller(), written, a.addressed)
	if reads {
		m.Command = &domain.Command{Name: "answer", Args: id + " " + answer, Plain: true}
	}
	return err
}

// asksReset reports whether a text asks for a new conversation, by a trigger or by a command that always does, and returns
// the text after it.
func (in *Inbox) asksReset(text string, triggers []string) (rest string, ok bool) {
	if rest, ok = trigger(text, triggers); ok {
		return rest, true
	}
	command, known := in.options.Commands.Parse(text)
	return command.Args, known && (command.Name == "new" || command.Name == "reset")
}

// begin starts a new conversation: with a message, which runs in it, or at once if there is none. It returns the
// commands to be answered besides the message.
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

// direct applies the directives and the skill of a message whose writer may use commands, and returns the commands to
// be answered besides it; false: there are none. Begins reports whether the message begins with the text.
func (in *Inbox) direct(m *domain.Message, text string, begins bool) (beside []domain.Command, ok bool) {
	// A file needs an answer, so directives beside it are not alone.
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

// rewrite gives a message another text for the agent, and keeps the original.
func rewrite(m *domain.Message, text string) {
	m.Raw = m.Written()
	m.Text = text
}

// trigger reports whether a text is a trigger, or begins with one and a space, and returns the text after it.
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

// burst joins messages in quick succession. A file ends the burst: nobody waits for more after it.
func burst(c config.Inbound, m domain.Message) domain.Burst {
	if c.Debounce <= 0 {
		return domain.Burst{}
	}
	return domain.Burst{
		Window: c.Debounce, By: string(m.Sender.ID), Messages: burstMessages, Bytes: burstBytes, Wait: burstWindows * c.Debounce,
		Now: len(m.Media) > 0,
	}
}

// expiry is when a session of this type automatically starts a new conversation.
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

// passiveText is the recorded form of a message that is not for the agent.
func passiveText(m domain.Message) string {
	text := m.Written()
	for _, media := range m.Media {
		text = strings.TrimSpace(text + " <media:" + media.Kind.String() + ">")
	}
	return text
}
