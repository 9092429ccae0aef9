package inbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/interpret"
	"github.com/clawhost/clawhost/core/internal/claude/sessions"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/core/internal/text/normalise"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxMissing bounds the unavailable files that a session's next turn reads about.
const maxMissing = 20

// destination is where a message goes: into a lane, or only into the record of its session. One of inbound, record and refused
// is set.
type destination struct {
	inbound  *domain.Inbound
	separate *domain.Inbound // commands in the message, which are answered besides it; nil: none
	record   *domain.Passive
	notice   string // tells the writer why the message is only recorded; empty: nothing does
	observed bool   // plugins observe the message
	refused  string // why it goes nowhere
}

// expects reports whether Claude will be asked soon: by the message, which waits for more, or by what follows a reset. The turn of one
// that does not wait starts at once whatever it needs.
func (d destination) expects() bool {
	if d.inbound == nil {
		return false
	}
	waits := d.inbound.Burst.Pause > 0 && !d.inbound.Burst.Now
	return d.inbound.Lane == domain.TurnLane && waits && !d.inbound.Message.Fresh || d.inbound.Reset
}

// route decides where a message goes for what it asks. What the session must not answer is only recorded, and so is a message
// whose files are all unavailable: there is nothing to answer, and Claude learns of it with the next message.
func (in *Inbox) route(a arrival, intent interpret.Intent) destination {
	if _, none := intent.(interpret.None); none {
		return in.passive(a)
	}
	d := destination{separate: in.separate(a, intent), observed: true}
	inbound := in.inbound(a, intent)
	m, now := inbound.Message, in.now()
	if inbound.Lane == domain.TurnLane {
		if m.Origin == "" && in.denies(a.chosen, a.key, m) {
			if !m.Fresh {
				d.record = &domain.Passive{Transcript: []chat.TranscriptEntry{{Role: chat.User, Text: a.message.Written(), At: now}}}
				return d
			}
			inbound = in.inbound(a, interpret.Reset{Model: inbound.Model}) // the conversation begins without the text
		} else if reply, event, missing := envelope.Missing(m.Text, m.Media); missing {
			d.record = &domain.Passive{Note: &domain.Note{Kind: domain.NoteEvent, At: now, Text: event}, Limit: maxMissing}
			d.notice, d.observed = reply, false
			return d
		}
	}
	d.inbound = &inbound
	return d
}

// passive routes what is not meant for the agent: it is recorded for the agent's next turn, within the group's limit.
func (in *Inbox) passive(a arrival) destination {
	if _, press := a.event.Body.(chat.ButtonPress); press {
		return destination{refused: "the button has no command of the host's"}
	}
	limit := in.conversations.History(a.message.Channel, a.event.Chat.ID)
	if limit == 0 && a.message.Starter == "" {
		return destination{refused: "the message does not mention the agent"}
	}
	note := normalise.Passive(a.message, a.event.Body)
	return destination{record: &domain.Passive{Note: &note, Limit: limit}}
}

// inbound returns a message with its lane, as the store accepts it, for what it asks. Commands have their own lanes: nothing may
// delay a stop. A command of a person who may not use it takes the same way, and its answer says so.
func (in *Inbox) inbound(a arrival, intent interpret.Intent) domain.Inbound {
	m := &a.message
	m.Command = nil
	switch intent := intent.(type) {
	case interpret.Stop:
		return in.command(a, domain.Command{Name: "stop", Args: intent.Args})
	case interpret.Answer:
		return in.command(a, domain.Command{Name: "answer", Args: intent.Question + " " + intent.Text, Plain: true})
	case interpret.Commands:
		return in.command(a, intent.List...)
	case interpret.Compact:
		m.Text, m.Origin = intent.Keep, domain.OriginCompact
	case interpret.Prompt:
		if text := normalise.WithNames(intent.Text, a.event.Body); text != m.Text {
			m.Raw, m.Text = m.Written(), text
		}
		m.Overrides = intent.Overrides
	case interpret.Reset:
		then := intent.Then
		if then == nil {
			then = interpret.Commands{List: []domain.Command{{Name: "new"}}}
		}
		inbound := in.inbound(a, then)
		inbound.Model, inbound.Reset, inbound.Burst = intent.Model, inbound.Message.Command != nil, domain.Burst{}
		inbound.Message.Fresh = !inbound.Reset
		return inbound
	case interpret.Ask, interpret.None: // The first is resolved before, the other goes into no lane.
	}
	return in.turn(a)
}

// frame returns what is the same for everything that the store accepts of a message.
func (in *Inbox) frame(a arrival) domain.Inbound {
	m := a.message
	inbound := domain.Inbound{EventID: a.event.ID, Session: a.key, Lane: domain.TurnLane, Message: m}
	if m.Thread != "" && !a.event.Isolated {
		inbound.Parent = in.parent(a.name, m, m.Sender)
	}
	return inbound
}

// command puts commands into the lane of the first. A permitted stop waits only for other stops.
func (in *Inbox) command(a arrival, list ...domain.Command) domain.Inbound {
	c := list[0]
	if len(list) > 1 {
		c.And = list[1:]
	}
	a.message.Command = &c
	inbound := in.frame(a)
	inbound.Lane = in.options.Commands.Lane(c.Name, a.message.Authority)
	inbound.Urgent = c.Name == "stop" && a.message.Authority >= chat.Authorised
	switch c.Name {
	case "agent":
		inbound.Choice = in.choice(a, c.Args)
	case "cd":
		inbound.Folder = in.folder(a, c.Args)
	case "fork":
		inbound.Fork = a.message.Authority >= chat.Owner
	}
	return inbound
}

// resume finds the session of Claude Code that a command has the conversation continue in, from the next message on. One that is open
// elsewhere is not resumed.
func (in *Inbox) resume(ctx context.Context, a arrival, inbound *domain.Inbound) error {
	if inbound == nil || inbound.Message.Command == nil || inbound.Message.Command.Name != "resume" || a.message.Authority < chat.Owner {
		return nil
	}
	of, err := in.store.Session(ctx, inbound.Session)
	if errors.Is(err, domain.ErrNotFound) && inbound.Parent != "" { // it begins in the folder of its parent
		of, err = in.store.Session(ctx, inbound.Parent)
	}
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("look up a session: %w", err)
	}
	of.Key = inbound.Session
	found, err := in.options.Sessions.Find(ctx, of, inbound.Message.Command.Args)
	switch {
	case err == nil && found.Open == nil:
		inbound.Resume = found.ID
	case err != nil && !errors.Is(err, sessions.ErrUnknown):
		in.log.Warn("the sessions of Claude Code cannot be read", "error", err) // the command's answer says so
	}
	return nil
}

// folder is the folder that a command has the agent work in, from the next message on; nil: it names none, or its writer may not.
func (in *Inbox) folder(a arrival, args string) *string {
	agent := in.conversations.Agent(a.name.Agent())
	if agent == nil || args == "" || !conversation.OpenTo(agent, in.caller(a)) {
		return nil
	}
	found, ok := in.conversations.Folders(agent).Find(args)
	if !ok {
		return nil
	}
	if found.Path == agent.Workspace {
		found.Path = ""
	}
	return &found.Path
}

// choice is the agent that a command chooses for its conversation, from the next message on; nil: it chooses none, or its writer may
// not.
func (in *Inbox) choice(a arrival, args string) *domain.AgentChoice {
	choice := &domain.AgentChoice{Conversation: a.name.With(session.MainAgent).Key()}
	agent, ok := in.conversations.Chosen(args, in.caller(a))
	switch {
	case !ok:
		return nil
	case agent != nil:
		choice.Agent = agent.Label
	}
	return choice
}

// turn puts a message into the turn lane.
func (in *Inbox) turn(a arrival) domain.Inbound {
	m, now := a.message, in.now()
	inbound := in.frame(a)
	inbound.Queue = conversation.Queueing(a.settings.Queue, m.Overrides.Queue, a.chosen.Queue)
	inbound.Reacts = a.settings.Reply.AckReaction == config.AckStatus && m.ID != ""
	inbound.Hint = &domain.Note{Kind: domain.NoteHint, At: now, Text: domain.HintStopped}
	inbound.Expiry = expiry(a.settings.Session, a.name.Type(), now, in.options.Zone)
	if m.Origin == "" && m.Pressed == nil {
		inbound.Burst = in.options.Debounce.Message(a.settings.Inbound, a.key, m, in.options.Turns.Busy(a.key), now)
	}
	return inbound
}

// separate makes a separate message, with its own id, of the commands that stand in a prompt; nil: there are none.
func (in *Inbox) separate(a arrival, intent interpret.Intent) *domain.Inbound {
	if reset, ok := intent.(interpret.Reset); ok {
		intent = reset.Then
	}
	prompt, _ := intent.(interpret.Prompt)
	if len(prompt.Commands) == 0 {
		return nil
	}
	m := &a.message
	m.Text, m.Raw, m.Media, m.ReplyTo = "", "", nil, nil
	for _, c := range prompt.Commands {
		m.Text = strings.TrimSpace(m.Text + " /" + c.Name)
	}
	a.event.ID = domain.KeyShortcut.Of(fmt.Sprintf("%x", sha256.Sum256([]byte(a.event.ID)))).EventID()
	inbound := in.command(a, prompt.Commands...)
	return &inbound
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
