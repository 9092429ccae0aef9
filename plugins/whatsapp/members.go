package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxMoved limits the events for people who join or leave at once.
const maxMoved = 100

// move is people joining or leaving a group.
type move struct {
	group        types.JID
	by           *types.JID // nil: they did so themselves
	version      string     // of the group's list of members
	at           time.Time
	joined, left []types.JID
}

// moved returns the change of a group's members.
func (l *line) moved(e *events.GroupInfo) move {
	m := move{group: e.JID, by: e.Sender, at: e.Timestamp, joined: e.Join, left: e.Leave}
	m.version = cmp.Or(e.ParticipantVersionID, strconv.FormatInt(e.Timestamp.Unix(), 10))
	if e.Delete != nil {
		m.left = []types.JID{l.account().own()}
	}
	return m
}

// entered returns the account's own joining of a group.
func (l *line) entered(e *events.JoinedGroup) move {
	m := move{group: e.JID, by: e.Sender, at: time.Now(), joined: []types.JID{l.account().own()}} // WhatsApp gives no time
	m.version = cmp.Or(e.ParticipantVersionID, strconv.FormatInt(e.GroupCreated.Unix(), 10))
	return m
}

// submitMoves submits an event for each person who joined or left.
func (l *line) submitMoves(m move) error {
	for _, member := range m.joined[:min(len(m.joined), maxMoved)] {
		if err := l.submitMove(m, member, true); err != nil {
			return err
		}
	}
	for _, member := range m.left[:min(len(m.left), maxMoved)] {
		if err := l.submitMove(m, member, false); err != nil {
			return err
		}
	}
	return nil
}

func (l *line) submitMove(m move, jid types.JID, joined bool) error {
	member := l.read.known(l.ctx, jid)
	by := member
	if m.by != nil {
		by = l.read.known(l.ctx, *m.by)
	}
	event := chat.Event{
		ID:     chat.EventID(fmt.Sprintf("wa:%s:member:%s:%s:%t", chatID(m.group), m.version, member.ID, joined)),
		Chat:   chat.Chat{ID: chatID(m.group), Kind: chat.Group, Title: l.read.titles.known(m.group)},
		Sender: by,
		At:     m.at,
		Body:   chat.MemberChange{Joined: joined, Member: member},
	}
	if _, err := l.in.Submit(l.ctx, event); err != nil {
		return err
	}
	if member.IsSelf {
		l.log.Info(whereabouts(joined), "chat", event.Chat.ID, "title", event.Chat.Title, "by", by.ID)
	}
	return nil
}

// whereabouts describes a change of the account's membership.
func whereabouts(joined bool) string {
	if joined {
		return "the account was added to a group; it answers there if access allows the group"
	}
	return "the account was removed from a group; nothing reaches it"
}

// known returns the sender for an address without further information.
func (in inbound) known(ctx context.Context, jid types.JID) chat.Sender {
	person, aliases := in.person(ctx, jid, types.EmptyJID)
	return chat.Sender{ID: chat.UserID(person.String()), Aliases: aliases, IsSelf: in.account().is(person)}
}

// Members implements sdk.MemberLister.
func (c *channel) Members(ctx context.Context, of chat.Address, limit int) (chat.Members, error) {
	group, client, err := c.reach(ctx, of)
	switch {
	case err != nil:
		return chat.Members{}, err
	case group.Server != types.GroupServer:
		return chat.Members{}, network.Refuse(chat.Invalid, "this is no group")
	}
	info, err := client.GetGroupInfo(ctx, group)
	if err != nil {
		return chat.Members{}, failure(err)
	}
	read := inbound{channel: c, lids: client.Store.LIDs, contacts: client.Store.Contacts}
	members := chat.Members{Total: len(info.Participants)}
	for _, p := range info.Participants[:min(len(info.Participants), limit)] {
		sender := read.known(ctx, p.JID)
		sender.DisplayName = read.called(ctx, p.JID)
		members.List = append(members.List, chat.Member{Sender: sender, IsAdmin: p.IsAdmin || p.IsSuperAdmin})
	}
	return members, nil
}
