// Package conversation resolves what holds for one conversation: who its people are, how Claude is run for it, how its chat is
// answered and what its channel can do. It is resolved once for a run, or for what else is done in a conversation, and passed on:
// no later step looks into the config or asks a channel for its limits.
package conversation

import (
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// fallbackLimit cuts text for a channel that has not told its limits yet: the least of the common networks'.
var fallbackLimit = chat.TextLimit{Max: 2000, Unit: chat.UTF16}

// DefaultModel is the name by which people choose the config's model.
const DefaultModel = "default"

// Channels knows what channels can do.
type Channels interface {
	// Limits returns what a channel can do in one kind of chat; false: it has not told yet.
	Limits(channel string, kind chat.Kind) (chat.Limits, bool)
}

// Chats knows chats that have moved to another id.
type Chats interface {
	// Origin returns the first id that a chat had; its own where it has not moved.
	Origin(channel string, id chat.ID) chat.ID
}

// Resolver resolves conversations. It is safe for concurrent use.
type Resolver struct {
	config   *config.Config
	channels Channels
	chats    Chats
}

// NewResolver returns a resolver for a config.
func NewResolver(c *config.Config, channels Channels, chats Chats) *Resolver {
	return &Resolver{config: c, channels: channels, chats: chats}
}

// Conversation is what holds for a message and its session. Every value is set: the message's directives go before the
// session's choices, these before the channel's block, and that before the rest of the config.
type Conversation struct {
	// Caller is who wrote. Its authority is an owner's only where an owner is behind the message: the turns of plugins and of
	// the heartbeat have it lent in whoever's chat they are.
	Caller chat.Caller
	Owned  bool // an owner is behind the message

	Settings config.Settings // of the channel
	Limits   chat.Limits     // what the channel can do in this kind of chat; zero as long as it has not told
	Text     chat.TextLimit  // how much fits into one message

	Agent          string // the agent's name
	Zone           *time.Location
	Model          string // empty: the CLI's own
	Effort         string // empty: the CLI's own
	PermissionMode string // one that an owner has chosen holds for owners' messages only
	Verbose        string // off, on, full
	Reasoning      string // off, on, stream
	Usage          string // off, tokens, full
	Speech         string // off, inbound, always, tagged; empty: no answer can be spoken
	Send           string // allow, deny
	Activation     string // mention, always; empty in a direct chat
	Queue          domain.Queueing
	Listening      bool // the agent hears all of a group and may have nothing to say: nothing is shown before it speaks
}

// Turn is a run with what holds for its conversation.
type Turn struct {
	*domain.Run
	*Conversation
}

// Turn resolves the conversation of a run.
func (r *Resolver) Turn(run *domain.Run) *Turn {
	return &Turn{run, r.Message(run.Message.Message, run.Session)}
}

// Message resolves the conversation of a message in a session.
func (r *Resolver) Message(m domain.Message, s domain.Session) *Conversation {
	c := r.resolve(m, s, m.Overrides.Over(s.Overrides))
	c.Caller.Sender, c.Caller.Authority = m.Sender, m.Authority
	if c.Owned = r.owned(m, c.Settings.Access.Owners); !c.Owned {
		if c.Caller.Authority == chat.Owner {
			c.Caller.Authority = chat.Authorised
		}
		c.PermissionMode = r.config.Claude.PermissionMode
	}
	return c
}

// Session resolves a session as a caller finds it, without any message.
func (r *Resolver) Session(caller chat.Caller, s domain.Session) *Conversation {
	m := domain.Message{
		Channel: caller.Address.Channel, Chat: chat.Chat{ID: caller.Address.Chat, Kind: caller.Kind, Title: s.Title}, Thread: caller.Address.Thread,
		Sender: caller.Sender, Authority: caller.Authority,
	}
	c := r.resolve(m, s, s.Overrides)
	c.Caller, c.Owned = caller, caller.Authority == chat.Owner
	return c
}

// resolve resolves all that does not depend on who wrote.
func (r *Resolver) resolve(m domain.Message, s domain.Session, chosen domain.Overrides) *Conversation {
	settings, claude := r.config.For(m.Channel), r.config.Claude
	to := m.Address()
	held := chosen.Over(domain.Overrides{
		Effort: claude.Effort, Permission: claude.PermissionMode, TTS: r.config.Media.TTS,
		Verbose: settings.Reply.Verbose, Reasoning: settings.Reply.Reasoning, Usage: settings.Reply.Usage,
	})
	c := &Conversation{
		Caller:   chat.Caller{Session: s.Key, Address: to, Kind: m.Chat.Kind},
		Settings: settings, Agent: r.config.Agent.Name, Zone: r.config.Agent.Timezone,
		Model: r.Model(chosen.Model), Effort: held.Effort, PermissionMode: held.Permission,
		Verbose: held.Verbose, Reasoning: held.Reasoning, Usage: held.Usage,
		Send:  r.config.Send.Policy(chosen.Send, s.Key, to, m.Chat.Kind),
		Queue: Queueing(settings.Queue, m.Overrides.Queue, s.Overrides.Queue),
	}
	c.Limits, c.Text = r.limits(m.Channel, m.Chat.Kind)
	if len(r.config.Media.Speak) > 0 {
		c.Speech = held.TTS
	}
	if m.Chat.Kind != chat.Direct {
		c.Activation = r.activation(settings.Access, m.Channel, m.Chat.ID, s)
		c.Listening = settings.Reply.Silent == "groups" && c.Activation == "always"
	}
	return c
}

// limits returns what a channel can do in one kind of chat, and how much text fits into one message of it.
func (r *Resolver) limits(channel string, kind chat.Kind) (chat.Limits, chat.TextLimit) {
	limits, known := r.channels.Limits(channel, kind)
	if !known {
		return limits, fallbackLimit
	}
	return limits, limits.Text
}

// Limits returns what a channel can do in one kind of chat; zero as long as it has not told.
func (r *Resolver) Limits(channel string, kind chat.Kind) chat.Limits {
	limits, _ := r.limits(channel, kind)
	return limits
}

// editMargin is how much earlier than a network the host ceases to edit: an edit takes its time, and clocks differ.
const editMargin = 30 * time.Second

// Editable reports whether a channel's network is sure to edit a message that was sent at a time, in whatever kind of chat. Some
// networks ignore an edit without a word.
func (r *Resolver) Editable(channel string, sentAt time.Time) bool {
	var window time.Duration // zero: without end
	for _, kind := range []chat.Kind{chat.Direct, chat.Group, chat.Broadcast} {
		if w := r.Limits(channel, kind).Edit.Window; w > 0 && (window == 0 || w < window) {
			window = w
		}
	}
	return window == 0 || time.Since(sentAt) <= window-min(editMargin, window/10)
}

// Settings returns the settings of a channel.
func (r *Resolver) Settings(channel string) config.Settings { return r.config.For(channel) }

// SendPolicy reports whether messages of a chat are answered: allow or deny. Own is what people chose for their session.
func (r *Resolver) SendPolicy(own, session string, from chat.Address, kind chat.Kind) string {
	return r.config.Send.Policy(own, session, from, kind)
}

// People are those whom the config lets in on a channel, each as channel:user.
func (r *Resolver) People(channel string) []string {
	access := r.config.For(channel).Access
	list := slices.DeleteFunc(slices.Concat(access.Owners, access.Allow), func(person string) bool { return !strings.HasPrefix(person, channel+":") })
	slices.Sort(list)
	return slices.Compact(list)
}

// Owners are those of a channel, each as channel:user.
func (r *Resolver) Owners(channel string) []string { return r.config.For(channel).Access.Owners }

// OwnersWrite reports whether owners may write in a group.
func (r *Resolver) OwnersWrite(channel string, id chat.ID) bool {
	access := r.config.For(channel).Access
	_, listed := r.Group(channel, id)
	return access.Groups == "open" || access.Groups == "allowlist" && listed
}

// Decides reports whether somebody may decide what Claude does for anybody: an owner, or whom the config names for it.
func (r *Resolver) Decides(caller chat.Caller) bool {
	if caller.Authority == chat.Owner {
		return true
	}
	listed := r.config.For(caller.Address.Channel).Access.Approvers
	return slices.ContainsFunc(caller.Sender.IDs(), func(id chat.UserID) bool {
		return slices.Contains(listed, caller.Address.Channel+":"+string(id))
	})
}

// Model returns the model that people mean by a name; none, or [DefaultModel], is the config's.
func (r *Resolver) Model(chosen string) string {
	if chosen == "" || chosen == DefaultModel {
		return r.config.Claude.Model
	}
	return r.config.Claude.Resolve(chosen)
}

// Group returns the settings of a group; false: the config does not list it. One that has moved is listed under the id that it
// has, or else under its first one.
func (r *Resolver) Group(channel string, id chat.ID) (config.Group, bool) {
	access := r.config.For(channel).Access
	g, ok := access.Group[string(Listed(access, channel, id, r.chats))]
	return g, ok
}

// Listed returns the id under which a channel's access lists a group, if it does: the one that the group has, or else its first one.
func Listed(access config.Access, channel string, id chat.ID, chats Chats) chat.ID {
	if _, ok := access.Group[string(id)]; ok {
		return id
	}
	return chats.Origin(channel, id)
}

// activation reports when the agent speaks in a group: always, or where it is mentioned.
func (r *Resolver) activation(access config.Access, channel string, id chat.ID, s domain.Session) string {
	if s.Overrides.Activation != "" {
		return s.Overrides.Activation
	}
	required := access.RequireMention
	if g, ok := access.Group[string(Listed(access, channel, id, r.chats))]; ok && g.RequireMention != nil {
		required = *g.RequireMention
	}
	if required {
		return "mention"
	}
	return "always"
}

// owned reports whether an owner is behind a message. The turns of plugins and the heartbeat have an owner's authority in
// whoever's chat they are: they count as the person's whose direct chat it is.
func (r *Resolver) owned(m domain.Message, owners []string) bool {
	if m.Authority != chat.Owner || m.Origin != domain.OriginPlugin && m.Origin != domain.OriginHeartbeat {
		return m.Authority == chat.Owner
	}
	return m.Chat.Kind == chat.Direct && slices.ContainsFunc(m.Sender.IDs(), func(id chat.UserID) bool {
		return slices.Contains(owners, m.Channel+":"+string(id))
	})
}
