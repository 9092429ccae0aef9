// Package access decides who may talk to the agent, and with what authority. It is closed by default: the zero [Rules]
// admit no one.
package access

import (
	"regexp"
	"slices"

	"github.com/clawhost/clawhost/sdk/chat"
)

// The reasons for refusals that a line of the config would lift.
const (
	GroupNotListed  = "the group is not listed"
	SenderNotListed = "the sender is not listed"
)

// DMPolicy decides who may write in a direct chat. Owners always may.
type DMPolicy string

// The policies for direct chats. Any other value, including the zero one, counts as DMDisabled.
const (
	DMPairing   DMPolicy = "pairing"   // listed or approved people; a stranger gets a pairing code
	DMAllowlist DMPolicy = "allowlist" // listed people
	DMOpen      DMPolicy = "open"      // everybody
	DMDisabled  DMPolicy = "disabled"  // no one else
)

// GroupPolicy decides in which groups and broadcast channels the agent takes part. There everybody may chat.
type GroupPolicy string

// The policies for groups. Any other value, including the zero one, counts as GroupsDisabled.
const (
	GroupsAllowlist GroupPolicy = "allowlist" // in listed ones
	GroupsOpen      GroupPolicy = "open"      // in all
	GroupsDisabled  GroupPolicy = "disabled"  // in none
)

// Rules are the rules of one channel. People are listed as "channel:user" and recognised by their id and their aliases.
type Rules struct {
	Owners []string
	DM     DMPolicy
	Allow  []string
	// CommandsFrom lists who may use commands, besides owners. It may also contain [Everybody], and groups as [InGroup]
	// writes them. Empty: see [Rules.Decide].
	CommandsFrom []string
	Groups       GroupPolicy
	Group        map[chat.ID]Group // the listed groups
	// RequireMention is set if a message in a group must address the agent.
	RequireMention bool
	// MentionPatterns match texts that address the agent, besides mentions.
	MentionPatterns []*regexp.Regexp
	// Activation overrides RequireMention, and that of a [Group], for the event's conversation. Values other than the two
	// below override nothing.
	Activation string
}

// Everybody stands for all who may write, in Rules.CommandsFrom.
const Everybody = "*"

// InGroup stands for all who may write in a group of a channel, in Rules.CommandsFrom.
func InGroup(channel string, group chat.ID) string {
	return channel + ":" + GroupPrefix + string(group)
}

// GroupPrefix follows the channel in what [InGroup] returns.
const GroupPrefix = "group:"

// The activations.
const (
	Always  = "always"  // a group's message need not address the agent
	Mention = "mention" // it must
)

// Group has the settings of a listed group.
type Group struct {
	RequireMention *bool // nil: as in [Rules]
}

// Action is the decision on an event.
type Action int

// The actions. The zero Action is the most restrictive.
const (
	Ignore        Action = iota
	Let                  // in
	Pair                 // a stranger who may ask to be let in
	RecordPassive        // a group's message that is not for the agent, but may be part of the context of the next one that is
)

// Decision is the result of the rules for an event.
type Decision struct {
	Action    Action
	Authority chat.Authority // the sender's; zero unless Action is Let or RecordPassive
	// Addressed is set if the event is meant for the agent: it is from a direct chat, mentions the agent, replies to it,
	// matches a pattern, or is a command from a menu, a native stop or a button press. False unless Action is Let.
	Addressed bool
	Reason    string // why the event was refused, for the log; contains no names
}

// Approved reports whether the sender was approved by pairing, under the id or an alias. It is called only if the answer
// matters: in a direct chat under [DMPairing].
type Approved func(chat.Sender) (bool, error)

// Decide applies the rules to a channel's event. Its error is that of approved.
//
// An owner has the authority of an owner wherever the event comes from. Anybody else who is admitted is authorised if
// CommandsFrom lists them or, if that list is empty, if the chat is direct or the sender is listed in Allow. So neither an
// approval nor an open policy gives authority in a group.
func (r Rules) Decide(channel string, e chat.Event, approved Approved) (Decision, error) {
	switch {
	case e.Sender.IsSelf:
		return ignore("sent by this account itself"), nil
	case e.Sender.IsBot:
		return ignore("sent by a bot"), nil
	}
	who := person{channel, e.Sender}
	switch e.Chat.Kind {
	case chat.Direct:
		return r.direct(who, e, approved)
	case chat.Group, chat.Broadcast:
		return r.group(who, e), nil
	default:
		return ignore("the kind of chat is not known"), nil
	}
}

func (r Rules) direct(who person, e chat.Event, approved Approved) (Decision, error) {
	switch {
	case e.Sender.ID == "":
		return ignore("the sender has no id"), nil
	case who.in(r.Owners):
		return let(chat.Owner), nil
	}
	authority := chat.Authorised
	if len(r.CommandsFrom) > 0 && !who.in(r.CommandsFrom, Everybody) {
		authority = chat.Other
	}
	switch r.DM {
	case DMOpen:
		return let(authority), nil
	case DMAllowlist:
		if who.in(r.Allow) {
			return let(authority), nil
		}
		return ignore(SenderNotListed), nil
	case DMPairing:
		if who.in(r.Allow) {
			return let(authority), nil
		}
		ok, err := approved(e.Sender)
		switch {
		case err != nil:
			return ignore("the approvals could not be read"), err
		case ok:
			return let(authority), nil
		case !speaks(e.Body):
			return ignore("the sender is a stranger"), nil
		default:
			return Decision{Action: Pair, Reason: "the sender is a stranger"}, nil
		}
	default:
		return ignore("direct chats are disabled"), nil
	}
}

func (r Rules) group(who person, e chat.Event) Decision {
	settings, listed := r.Group[e.Chat.ID]
	switch {
	case r.Groups == GroupsAllowlist && !listed:
		return ignore(GroupNotListed)
	case r.Groups != GroupsAllowlist && r.Groups != GroupsOpen:
		return ignore("groups are disabled")
	}
	decision := Decision{Action: Let, Authority: chat.Other, Addressed: r.addressed(e.Body)}
	if _, ok := e.Body.(chat.Message); ok && !decision.Addressed && r.mustAddress(settings) {
		decision.Action, decision.Reason = RecordPassive, "the message does not mention the agent"
	}
	switch {
	case who.in(r.Owners):
		decision.Authority = chat.Owner
	case len(r.CommandsFrom) == 0 && who.in(r.Allow), who.in(r.CommandsFrom, Everybody, InGroup(who.channel, e.Chat.ID)):
		decision.Authority = chat.Authorised
	}
	return decision
}

// mustAddress reports whether a message in a group, including slash commands, must address the agent.
func (r Rules) mustAddress(g Group) bool {
	switch {
	case r.Activation == Always:
		return false
	case r.Activation == Mention:
		return true
	case g.RequireMention != nil:
		return *g.RequireMention
	default:
		return r.RequireMention
	}
}

// addressed reports whether an event of a group is meant for the agent.
func (r Rules) addressed(b chat.Body) bool {
	switch b := b.(type) {
	case chat.Message:
		return b.MentionsSelf ||
			b.ReplyTo != nil && b.ReplyTo.IsSelf ||
			slices.ContainsFunc(b.Mentions, func(m chat.Mention) bool { return m.IsSelf }) ||
			slices.ContainsFunc(r.MentionPatterns, func(p *regexp.Regexp) bool { return p.MatchString(b.Text) })
	case chat.NativeCommand, chat.StopRequest, chat.ButtonPress:
		return true
	default:
		return false
	}
}

// speaks reports whether an event contains something said to the agent. Only then does a stranger get a pairing code, not
// for a reaction or an edit.
func speaks(b chat.Body) bool {
	switch b.(type) {
	case chat.Message, chat.NativeCommand:
		return true
	default:
		return false
	}
}

func ignore(reason string) Decision { return Decision{Action: Ignore, Reason: reason} }

// let admits an event of a direct chat.
func let(authority chat.Authority) Decision {
	return Decision{Action: Let, Authority: authority, Addressed: true}
}

// person is a sender as written in the lists.
type person struct {
	channel string
	sender  chat.Sender
}

// in reports whether the person, or one of the sets that they belong to, is listed. A person without an id never is.
func (p person) in(list []string, sets ...string) bool {
	if p.sender.ID != "" && slices.ContainsFunc(sets, func(set string) bool { return slices.Contains(list, set) }) {
		return true
	}
	listed := func(id chat.UserID) bool { return id != "" && slices.Contains(list, p.channel+":"+string(id)) }
	return listed(p.sender.ID) || slices.ContainsFunc(p.sender.Aliases, listed)
}

// Audience describes the people whose messages have an authority, as in "for owners".
func Audience(a chat.Authority) string {
	switch a {
	case chat.Owner:
		return "owners"
	case chat.Authorised:
		return "people who may use commands"
	default:
		return "people who may not use commands"
	}
}
