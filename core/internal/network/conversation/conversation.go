// Package conversation resolves the settings of one conversation: its people, how Claude is run for it, how its chat is
// answered and what its channel supports. They are resolved once for a run and passed on. What handles an event or asks a
// question outside of a run's steps gets them from the [Resolver]: only the plugins' supervisor uses their limits directly.
package conversation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// fallbackLimit is the text limit for a channel that has not reported its limits yet: the smallest of the common networks.
var fallbackLimit = chat.TextLimit{Max: 2000, Unit: chat.UTF16}

// DefaultModel is the name that selects the config's model.
const DefaultModel = "default"

// Chats tracks chats that have moved to another id.
type Chats interface {
	// Origin returns the first id of a chat; its own if it has not moved.
	Origin(channel string, id chat.ID) chat.ID
}

// Resolver resolves conversations. It is safe for concurrent use.
type Resolver struct {
	config  config.Getter
	folders *config.Derived[map[string]*folder.Folders] // by the agents' labels
	plugins *plugins.Registry
	chats   Chats
}

// NewResolver returns a resolver for a config.
func NewResolver(c config.Getter, plugins *plugins.Registry, chats Chats) *Resolver {
	return &Resolver{config: c, plugins: plugins, chats: chats, folders: config.Derive(c, folders)}
}

// folders are those in which the agents may work.
func folders(c *config.Config) map[string]*folder.Folders {
	closed := c.Own()
	for _, a := range c.AllAgents() {
		closed = append(closed, a.Workspace)
	}
	all := map[string]*folder.Folders{}
	for _, a := range c.AllAgents() {
		all[a.Label] = folder.New(a.Workspace, a.Folders, closed)
	}
	return all
}

// Config returns the config as it is now, for what is not of one conversation.
func (r *Resolver) Config() *config.Config { return r.config.Get() }

// Conversation has the settings for a message and its session. Every value is set. In descending order of precedence they
// come from the message's directives, the session's choices, the group's block, the channel's block, the agent's block, and the rest
// of the config.
type Conversation struct {
	// Caller is the message's author. Its authority is an owner's only if an owner is behind the message: turns of plugins
	// and of the heartbeat run with an owner's authority in any chat.
	Caller chat.Caller
	Owned  bool // whether an owner is behind the message

	Settings config.Settings // of the channel
	Limits   chat.Limits     // of the channel in this kind of chat; zero until it has reported them
	Text     chat.TextLimit  // the limit of one message
	edits    time.Duration   // for how long its messages can be edited; zero: without end

	Agent          *config.Agent // that of the session; main, if the config has none with this name any more
	Missing        string        // the label of the agent that the config does not have any more; empty: it has it
	Author         string        // the label of the agent, for what it writes; empty: there is only one agent
	Folder         string        // in which the agent works; empty: its workspace
	CopyOf         string        // the folder that the Folder is a worktree of; empty: it is none
	Zone           *time.Location
	SystemPrompt   string          // the group's, in addition to the agent's
	Skills         config.Patterns // of the agent's skills that the group uses
	Tools          config.Patterns // of the tools that the group uses
	Model          string          // empty: the CLI's own
	Effort         string          // empty: the CLI's own
	Fast           bool            // the model answers faster, if it can
	PermissionMode string          // an owner's choice applies to owners' messages only
	Verbose        string          // off, on, full
	Reasoning      string          // off, on, stream
	Usage          string          // off, tokens, full
	Speech         string          // off, inbound, always, tagged; empty: no answer can be spoken
	Send           string          // allow, deny
	Activation     string          // mention, always; empty in a direct chat
	History        int             // messages of a group that are not for the agent and are kept for it; zero in a direct chat
	Queue          domain.Queueing
	MayBeSilent    bool   // the agent may answer with nothing
	Visible        string // what is sent: answer, tool
	Listening      bool   // the agent reads all messages and may stay silent: nothing is shown before it answers
}

// Run is a run with the settings of its conversation.
type Run struct {
	*domain.Run
	*Conversation
	Given map[string]string // what Claude has of hooks with this run's prompt; nil: as before
}

// NotAsking is the notice that the turn runs tools without asking.
func (r *Run) NotAsking() string {
	return wording.NotAsking(r.Head.Message.Authority == chat.Owner && r.Head.Message.Overrides.Permission == "")
}

// Run resolves the conversation of a run.
func (r *Resolver) Run(run *domain.Run) *Run {
	return &Run{Run: run, Conversation: r.Message(run.Head.Message, run.Session)}
}

// Message resolves the conversation of a message in a session.
func (r *Resolver) Message(m domain.Message, s domain.Session) *Conversation {
	c := r.resolve(m, s, m.Overrides.Over(s.Overrides))
	c.Caller.Sender, c.Caller.Authority = m.Sender, m.Authority
	if c.Owned = r.owned(m, c.Settings.Access.Owners); !c.Owned {
		if c.Caller.Authority == chat.Owner {
			c.Caller.Authority = chat.Authorised
		}
		c.PermissionMode = c.Agent.Claude.PermissionMode
	}
	return c
}

// Session resolves a session for a caller, without a message.
func (r *Resolver) Session(caller chat.Caller, s domain.Session) *Conversation {
	m := domain.Message{
		Channel: caller.Address.Channel, Chat: chat.Chat{ID: caller.Address.Chat, Kind: caller.Kind, Title: s.Title},
		Thread: caller.Address.Thread,
		Sender: caller.Sender, Authority: caller.Authority,
	}
	c := r.resolve(m, s, s.Overrides)
	c.Caller, c.Owned = caller, caller.Authority == chat.Owner
	return c
}

// resolve resolves everything that does not depend on the author.
func (r *Resolver) resolve(m domain.Message, s domain.Session, chosen domain.Overrides) *Conversation {
	config := r.Config()
	settings, to := config.For(m.Channel), m.Address()
	label := session.AgentOf(s.Key)
	agent, missing := config.AgentNamed(label), ""
	if agent == nil {
		agent, missing = &config.Agent, label
	}
	claude := agent.Claude
	group, _ := r.group(m)
	held := chosen.Over(domain.Overrides{
		Effort: cmp.Or(group.Effort, claude.Effort), Fast: map[bool]string{true: "on"}[claude.Fast], Permission: claude.PermissionMode, TTS: config.Media.TTS,
		Verbose: settings.Reply.Verbose, Reasoning: settings.Reply.Reasoning, Usage: settings.Reply.Usage,
	})
	c := &Conversation{
		Caller:   r.Caller(s.Key, to, m.Chat.Kind),
		Settings: settings, Agent: agent, Missing: missing, Zone: agent.Timezone,
		SystemPrompt: group.SystemPrompt, Skills: group.Skills, Tools: group.Tools,
		Model: model(agent, group, chosen.Model), Effort: held.Effort, Fast: held.Fast == "on", PermissionMode: held.Permission,
		Verbose: held.Verbose, Reasoning: held.Reasoning, Usage: held.Usage,
		Send:  config.Send.Policy(chosen.Send, s.Key, to, m.Chat.Kind),
		Queue: Queueing(settings.Queue, m.Overrides.Queue, s.Overrides.Queue),
	}
	c.Work(s)
	if r.Several() {
		c.Author = label
	}
	c.Limits, c.Text = r.limits(m.Channel, m.Chat.Kind)
	c.edits = r.editWindow(m.Channel)
	if len(config.Media.Speak) > 0 {
		c.Speech = held.TTS
	}
	if m.Chat.Kind != chat.Direct {
		c.Activation = r.activation(settings.Access, m.Channel, m.Chat.ID, s)
		c.History = r.History(m.Channel, m.Chat.ID)
	}
	c.MayBeSilent, c.Visible = settings.Reply.MayBeSilent(m.Chat.Kind), settings.Reply.VisibleIn(m.Chat.Kind)
	c.Listening = c.MayBeSilent && c.Activation != "mention"
	return c
}

// group returns the settings of a message's group; none, in a direct chat.
func (r *Resolver) group(m domain.Message) (config.Group, bool) {
	if m.Chat.Kind == chat.Direct {
		return config.Group{}, false
	}
	return r.Group(m.Channel, m.Chat.ID)
}

// Work has the conversation work where a session does.
func (c *Conversation) Work(s domain.Session) {
	c.Folder, c.CopyOf = s.Place(), ""
	if s.Worktree != "" {
		c.CopyOf = cmp.Or(s.Folder, c.Agent.Workspace)
	}
}

// limits returns a channel's limits in one kind of chat, and the limit of one message.
func (r *Resolver) limits(channel string, kind chat.Kind) (chat.Limits, chat.TextLimit) {
	limits, known := r.plugins.Limits(channel, kind)
	if !known {
		return limits, fallbackLimit
	}
	return limits, limits.Text
}

// Limits returns a channel's limits in one kind of chat; zero until it has reported them.
func (r *Resolver) Limits(channel string, kind chat.Kind) chat.Limits {
	limits, _ := r.limits(channel, kind)
	return limits
}

// Can reports whether a channel runs and has a capability.
func (r *Resolver) Can(channel string, c remote.Capability) bool {
	p, running := r.plugins.Get(channel)
	return running && p.Can(c)
}

// editMargin is how long before the end of the network's window the host stops editing: an edit takes time, and clocks differ.
const editMargin = 30 * time.Second

// Editable reports whether a channel's network certainly allows editing a message that was sent at a time, in any kind of
// chat. Some networks ignore a late edit silently.
func (r *Resolver) Editable(channel string, sentAt time.Time) bool {
	return editable(r.editWindow(channel), sentAt)
}

// Editable is [Resolver.Editable] for a message in the conversation's channel.
func (c *Conversation) Editable(sentAt time.Time) bool { return editable(c.edits, sentAt) }

// editWindow returns for how long a channel's network allows editing a message in any kind of chat; zero: without end.
func (r *Resolver) editWindow(channel string) (window time.Duration) {
	for _, kind := range []chat.Kind{chat.Direct, chat.Group, chat.Broadcast} {
		if w := r.Limits(channel, kind).Edit.Window; w > 0 && (window == 0 || w < window) {
			window = w
		}
	}
	return window
}

func editable(window time.Duration, sentAt time.Time) bool {
	return window == 0 || time.Since(sentAt) <= window-min(editMargin, window/10)
}

// Settings returns the settings of a channel.
func (r *Resolver) Settings(channel string) config.Settings { return r.Config().For(channel) }

// SendPolicy reports whether messages of a chat are answered: allow or deny. Own is what people chose for their session.
func (r *Resolver) SendPolicy(own, session string, from chat.Address, kind chat.Kind) string {
	return r.Config().Send.Policy(own, session, from, kind)
}

// People are those whom the config lets in on a channel, each as channel:user.
func (r *Resolver) People(channel string) []string {
	access := r.Config().For(channel).Access
	list := slices.DeleteFunc(slices.Concat(access.Owners, access.Allow),
		func(person string) bool { return !strings.HasPrefix(person, channel+":") })
	slices.Sort(list)
	return slices.Compact(list)
}

// Owners are those of a channel, each as channel:user.
func (r *Resolver) Owners(channel string) []string { return r.Config().For(channel).Access.Owners }

// OwnersWrite reports whether owners may write in a group.
func (r *Resolver) OwnersWrite(channel string, id chat.ID) bool {
	access := r.Config().For(channel).Access
	_, listed := r.Group(channel, id)
	return access.Groups == "open" || access.Groups == "allowlist" && listed
}

// Decides reports whether a person may decide what Claude does for anyone: an owner, or whom the config names for it.
func (r *Resolver) Decides(caller chat.Caller) bool {
	if caller.Authority == chat.Owner {
		return true
	}
	listed := r.Config().For(caller.Address.Channel).Access.Approvers
	return slices.ContainsFunc(caller.Sender.IDs(), func(id chat.UserID) bool {
		return slices.Contains(listed, caller.Address.Channel+":"+string(id))
	})
}

// model returns the model that people mean by a name; none, or [DefaultModel], is the group's or else the agent's.
func model(a *config.Agent, g config.Group, chosen string) string {
	if chosen == "" || chosen == DefaultModel {
		chosen = cmp.Or(g.Model, a.Claude.Model)
	}
	return a.Claude.Resolve(chosen)
}

// Group returns the settings of a group, or false if the config does not list it. A group that has moved may be listed
// under its current id or its first one.
func (r *Resolver) Group(channel string, id chat.ID) (config.Group, bool) {
	access := r.Config().For(channel).Access
	g, ok := access.Group[string(Listed(access, channel, id, r.chats))]
	return g, ok
}

// Listed returns the id under which a channel's access lists a group, if it does: its current id, or else its first one.
func Listed(access config.Access, channel string, id chat.ID, chats Chats) chat.ID {
	if _, ok := access.Group[string(id)]; ok {
		return id
	}
	return chats.Origin(channel, id)
}

// History returns how many messages of a group that are not for the agent are kept for it.
func (r *Resolver) History(channel string, id chat.ID) int {
	access := r.Config().For(channel).Access
	if g, ok := access.Group[string(Listed(access, channel, id, r.chats))]; ok && g.HistoryLimit != nil {
		return *g.HistoryLimit
	}
	return access.HistoryLimit
}

// activation returns when the agent answers in a group: always, or if it is mentioned.
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

// owned reports whether an owner is behind a message, as on the command line. Turns of plugins and the heartbeat have
// an owner's authority in any chat: they count as the person's whose direct chat it is. A turn of a job, which may have run for long, is
// that of an owner who still is one.
func (r *Resolver) owned(m domain.Message, owners []string) bool {
	if m.Authority != chat.Owner {
		return false
	}
	switch {
	case m.Channel == session.CLI:
		return true
	case m.Origin == domain.OriginJob:
	case m.Origin != domain.OriginPlugin && m.Origin != domain.OriginHeartbeat:
		return true
	case m.Chat.Kind != chat.Direct:
		return false
	}
	return slices.ContainsFunc(m.Sender.IDs(), func(id chat.UserID) bool {
		return slices.Contains(owners, m.Channel+":"+string(id))
	})
}
