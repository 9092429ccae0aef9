// Package session names sessions. A session is one conversation with the agent; its key tells which chats share it.
//
// A key is a list of parts joined by ":", each with ":" and "%" percent-encoded, in one of these forms:
//
//	main                                the direct chats of everybody, under [Main]
//	peer:<identity>                     the direct chats of a linked person, under [PerPeer]
//	peer:<channel>:<user>               those of a person that no link names, under [PerPeer]
//	<channel>:<user>                    a direct chat, under [PerChannelPeer]
//	<channel>:<user>:thread:<id>        a thread of a direct chat
//	<channel>:group:<chat>              a group or broadcast channel
//	<channel>:group:<chat>:thread:<id>  a thread of one
//
// Groups and threads keep a session of their own under every scope: what a group reads must not come from a direct chat,
// and a thread's id means nothing outside its chat. The number of parts tells the forms apart, so that a user who is
// called "group" or "thread" harms nobody.
package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Scope says which direct chats share a session.
type Scope string

// The scopes. Any other Scope, the zero one among them, counts as PerChannelPeer, which shares nothing.
const (
	Main           Scope = "main"             // all of them share one
	PerPeer        Scope = "per-peer"         // those of one person, over all channels
	PerChannelPeer Scope = "per-channel-peer" // none: a session for each person and channel
)

// Links names people: under each name the users that are one person, as "channel:user". No user stands under two names.
type Links map[string][]string

// name returns the person whom one of the entries belongs to.
func (l Links) name(entries []string) (string, bool) {
	found := false
	var first string
	for name, users := range l {
		// The least name wins, so that a user under two names has one session at least, and not one by chance.
		if (!found || name < first) && slices.ContainsFunc(users, func(u string) bool { return slices.Contains(entries, u) }) {
			first, found = name, true
		}
	}
	return first, found
}

// The labels that begin keys of other forms, and the parts that mark a form.
const (
	mainLabel   = "main"
	peerLabel   = "peer"
	pluginLabel = "plugin"
	cronLabel   = "cron"

	groupPart  = "group"
	threadPart = "thread"
)

// Reserved tells whether no plugin instance may have this label, because session keys begin with it.
func Reserved(label string) bool {
	switch label {
	case mainLabel, peerLabel, pluginLabel, cronLabel:
		return true
	default:
		return false
	}
}

// Type is the sort of a session, by which it is reset.
type Type string

// The types.
const (
	Direct Type = "direct"
	Group  Type = "group"
	Thread Type = "thread"
)

// Name is a key taken apart. The zero Name is the session of [Main]; else either Identity is set or Channel and one of
// User and Chat are.
type Name struct {
	Shared   bool   // under PerPeer: it spans channels
	Identity string // the name of a linked person; then Shared is true and all below is empty
	Channel  string // the plugin instance's label
	User     chat.UserID
	Chat     chat.ID
	Thread   chat.ThreadID // empty: not a thread
}

// Of returns the name of the session that a message of the sender belongs to. The ids must not be empty, but for the
// thread and, in a group, the sender; the channel must not be [Reserved].
func Of(scope Scope, channel string, c chat.Chat, thread chat.ThreadID, sender chat.Sender, links Links) Name {
	if c.Kind != chat.Direct {
		return Name{Channel: channel, Chat: c.ID, Thread: thread}
	}
	if thread != "" {
		return Name{Channel: channel, User: sender.ID, Thread: thread}
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

// entries lists the sender's id and aliases as links write them.
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

// Parse takes a key apart. It refuses what [Name.Key] does not write, so that no two keys have one name.
func Parse(key string) (Name, error) {
	raw := strings.Split(key, ":")
	parts := make([]string, len(raw))
	for i, part := range raw {
		parts[i] = decode.Replace(part)
		if part == "" || encode.Replace(parts[i]) != part {
			return Name{}, fmt.Errorf("%q is not a session key: part %d is empty or not encoded", key, i+1)
		}
	}
	n, ok := name(parts)
	if !ok {
		return Name{}, fmt.Errorf("%q is not a session key: it has none of the forms", key)
	}
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
