// Package session defines session keys. A session is one conversation with the agent; its key says which chats share it.
//
// A key is a list of parts joined by ":", each with ":" and "%" percent-encoded, in one of these forms:
//
//	main                                the direct chats of everybody, under [Main]
//	peer:<identity>                     the direct chats of a linked person, under [PerPeer]
//	peer:<channel>:<user>               those of a person that no link names, under [PerPeer]
//	<channel>:<user>                    a direct chat, under [PerChannelPeer]
//	cli:<conversation>                  what the operator asks from a command line
//	<channel>:<user>:thread:<id>        a thread of a direct chat
//	<channel>:group:<chat>              a group or broadcast channel
//	<channel>:group:<chat>:thread:<id>  a thread of one
//
// Before the key of a conversation beside that of people stands whose it is: the part heartbeat: if it is that of an agent's heartbeat,
// the parts plugin:<plugin>/<name>: if it is one of a plugin's. The rest is the key of the people's conversation. Before the key of a conversation with another agent than [MainAgent] stand the parts agent:<name>:. Each
// agent has its own sessions, so that none reads what was said to another.
//
// Groups and threads have their own session under every scope: a group must not see what comes from a direct chat, and a
// thread's id is unique only within its chat. Forms are distinguished by the number of parts, so that a user called "group"
// or "thread" is harmless.
package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Scope decides which direct chats share a session.
type Scope string

// The scopes. Any other value, including the zero one, counts as PerChannelPeer, which shares nothing.
const (
	Main           Scope = "main"             // all of them share one
	PerPeer        Scope = "per-peer"         // those of one person, over all channels
	PerChannelPeer Scope = "per-channel-peer" // none: a session for each person and channel
)

// CLI is the channel of what the operator asks from a command line. No plugin has it.
const CLI = "cli"

// Links maps a person's name to their users, as "channel:user". No user belongs to two names.
type Links map[string][]string

// name returns the person to whom one of the entries belongs.
func (l Links) name(entries []string) (string, bool) {
	found := false
	var first string
	for name, users := range l {
		// The smallest name wins, so that a user under two names always has the same session.
		if (!found || name < first) && slices.ContainsFunc(users, func(u string) bool { return slices.Contains(entries, u) }) {
			first, found = name, true
		}
	}
	return first, found
}

// The first parts of other forms of keys, and the parts that mark a form.
const (
	mainLabel      = "main"
	peerLabel      = "peer"
	pluginLabel    = "plugin"
	cronLabel      = "cron"
	agentLabel     = "agent"
	heartbeatLabel = "heartbeat"

	groupPart  = "group"
	threadPart = "thread"
)

// Reserved reports whether a plugin instance may not have this label, because session keys begin with it.
func Reserved(label string) bool {
	switch label {
	case mainLabel, peerLabel, pluginLabel, cronLabel, agentLabel, heartbeatLabel:
		return true
	default:
		return false
	}
}

// Type is the type of a session, for resets.
type Type string

// The types.
const (
	Direct Type = "direct"
	Group  Type = "group"
	Thread Type = "thread"
)

// MainAgent is the agent whose sessions have keys without an agent.
const MainAgent = "main"

// Name is a parsed key. Apart from its agent and from whose it is, the zero Name is the session of [Main]; otherwise either Identity is
// set, or Channel and one of User and Chat.
type Name struct {
	agent     string // empty: [MainAgent]
	heartbeat bool   // it is the heartbeat's
	plugin    string // it is this one of a plugin's, as [OfPlugin] has it; empty: it is none
	Shared    bool   // under PerPeer: it spans channels
	Identity  string // the name of a linked person; then Shared is true and the fields below are empty
	Channel   string // the plugin instance's label
	User      chat.UserID
	Chat      chat.ID
	Thread    chat.ThreadID // empty: not a thread
}

// Of returns the name of the session for a message of the sender. The ids must not be empty, except for the thread and, in
// a group, the sender; the channel must not be [Reserved].
func Of(scope Scope, channel string, c chat.Chat, thread chat.ThreadID, sender chat.Sender, links Links) Name {
	if c.Kind != chat.Direct {
		return Name{Channel: channel, Chat: c.ID, Thread: thread}
	}
	if thread != "" {
		return Name{Channel: channel, User: sender.ID, Thread: thread}
	}
	if channel == CLI {
		scope = PerChannelPeer
	}
	switch scope {
	case Main:
		return Name{}
	case PerPeer:
		if identity, ok := links.name(entries(channel, sender)); ok {
			return Name{Shared: true, Identity: identity}
		}
		return Name{Shared: true, Channel: channel, User: sender.ID}
	default:
		return Name{Channel: channel, User: sender.ID}
	}
}

// Agent returns the agent whose session it is.
func (n Name) Agent() string { return cmp.Or(n.agent, MainAgent) }

// With returns the name of the same conversation with another agent.
func (n Name) With(agent string) Name {
	if n.agent = agent; agent == MainAgent {
		n.agent = ""
	}
	return n
}

// AgentOf returns the agent whose session has a key. It is the [MainAgent] if the key is not valid.
func AgentOf(key string) string {
	if !strings.HasPrefix(key, agentLabel+":") {
		return MainAgent
	}
	n, _ := Parse(key) // the zero Name is the main agent's
	return n.Agent()
}

// HeartbeatOf returns the key of the conversation that the agent's heartbeat has of its own beside the one with a key. A key that is
// not valid is returned as it is.
func HeartbeatOf(key string) string {
	n, err := Parse(key)
	if err != nil {
		return key
	}
	n.heartbeat, n.plugin = true, ""
	return n.Key()
}

// OfPlugin names a conversation of a plugin's own.
func OfPlugin(plugin, name string) string { return plugin + "/" + name }

// PluginsOf returns the key of a conversation of a plugin's own, which [OfPlugin] names, beside the one with a key. A key that is not
// valid is returned as it is.
func PluginsOf(key, conversation string) string {
	n, err := Parse(key)
	if err != nil {
		return key
	}
	n.heartbeat, n.plugin = false, conversation
	return n.Key()
}

// PeoplesOf returns the key of the conversation of people beside which the heartbeat, or a plugin, has the one with a key. Any other
// key is returned as it is.
func PeoplesOf(key string) string {
	n, err := Parse(key)
	if err != nil {
		return key
	}
	n.heartbeat, n.plugin = false, ""
	return n.Key()
}

// entries returns the sender's id and aliases as written in links.
func entries(channel string, sender chat.Sender) []string {
	var out []string
	for _, id := range sender.IDs() {
		out = append(out, channel+":"+string(id))
	}
	return out
}

// Key returns the session's key.
func (n Name) Key() string {
	var parts []string
	switch {
	case n.Identity != "":
		parts = []string{peerLabel, n.Identity}
	case n.Channel == "":
		parts = []string{mainLabel}
	case n.Shared:
		parts = []string{peerLabel, n.Channel, string(n.User)}
	case n.Chat != "":
		parts = []string{n.Channel, groupPart, string(n.Chat)}
	default:
		parts = []string{n.Channel, string(n.User)}
	}
	if n.Thread != "" {
		parts = append(parts, threadPart, string(n.Thread))
	}
	switch {
	case n.heartbeat:
		parts = append([]string{heartbeatLabel}, parts...)
	case n.plugin != "":
		parts = append([]string{pluginLabel, n.plugin}, parts...)
	}
	if n.agent != "" {
		parts = append([]string{agentLabel, n.agent}, parts...)
	}
	for i, part := range parts {
		parts[i] = encode.Replace(part)
	}
	return strings.Join(parts, ":")
}

// Type returns the session's type.
func (n Name) Type() Type {
	switch {
	case n.Thread != "":
		return Thread
	case n.Chat != "":
		return Group
	default:
		return Direct
	}
}

var (
	encode = strings.NewReplacer("%", "%25", ":", "%3A")
	decode = strings.NewReplacer("%25", "%", "%3A", ":")
)

// Parse parses a key. It refuses what [Name.Key] does not produce, so that a name has only one key.
func Parse(key string) (Name, error) {
	raw := strings.Split(key, ":")
	parts := make([]string, len(raw))
	for i, part := range raw {
		parts[i] = decode.Replace(part)
		if part == "" || encode.Replace(parts[i]) != part {
			return Name{}, fmt.Errorf("%q is not a session key: part %d is empty or not encoded", key, i+1)
		}
	}
	agent := ""
	if len(parts) > 2 && parts[0] == agentLabel && parts[1] != MainAgent {
		agent, parts = parts[1], parts[2:]
	}
	heartbeat, plugin := len(parts) > 1 && parts[0] == heartbeatLabel, ""
	switch {
	case heartbeat:
		parts = parts[1:]
	case len(parts) > 2 && parts[0] == pluginLabel && strings.Contains(parts[1], "/"):
		plugin, parts = parts[1], parts[2:]
	}
	n, ok := name(parts)
	if !ok {
		return Name{}, fmt.Errorf("%q is not a session key: it has none of the forms", key)
	}
	n.agent, n.heartbeat, n.plugin = agent, heartbeat, plugin
	return n, nil
}

func name(parts []string) (Name, bool) {
	first, rest := parts[0], parts[1:]
	switch first {
	case mainLabel:
		return Name{}, len(rest) == 0
	case peerLabel:
		switch len(rest) {
		case 1:
			return Name{Shared: true, Identity: rest[0]}, true
		case 2:
			return Name{Shared: true, Channel: rest[0], User: chat.UserID(rest[1])}, !Reserved(rest[0])
		}
		return Name{}, false
	}
	if Reserved(first) {
		return Name{}, false
	}
	n := Name{Channel: first}
	switch len(rest) {
	case 1, 3:
		n.User = chat.UserID(rest[0])
		rest = rest[1:]
	case 2, 4:
		if rest[0] != groupPart {
			return Name{}, false
		}
		n.Chat = chat.ID(rest[1])
		rest = rest[2:]
	default:
		return Name{}, false
	}
	if len(rest) == 2 {
		n.Thread = chat.ThreadID(rest[1])
		return n, rest[0] == threadPart
	}
	return n, true
}
