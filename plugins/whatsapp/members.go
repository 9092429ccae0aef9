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
)

// maxMoved is how many people's coming, and going, the host hears of at once.
const maxMoved = 100

// move is people's coming into a group, or their going.
type move struct {
	group        types.JID
	by           *types.JID // nil: they did so themselves
	version      string     // of the group's list of members
	at           time.Time
	joined, left []types.JID
}

// moved is what a group's change says of its members.
func (l *line) moved(e *events.GroupInfo) move {
	m := move{group: e.JID, by: e.Sender, at: e.Timestamp, joined: e.Join, left: e.Leave}
	m.version = cmp.Or(e.ParticipantVersionID, strconv.FormatInt(e.Timestamp.Unix(), 10))
	if e.Delete != nil {
		m.left = []types.JID{l.account().own()}
	}
	return m
}

// entered is the account's own coming into a group.
func (l *line) entered(e *events.JoinedGroup) move {
	m := move{group: e.JID, by: e.Sender, at: time.Now(), joined: []types.JID{l.account().own()}} // WhatsApp does not say when.
	m.version = cmp.Or(e.ParticipantVersionID, strconv.FormatInt(e.GroupCreated.Unix(), 10))
	return m
}

// tellMoved gives the host an event for each who came or went.
func (l *line) tellMoved(m move) error {
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

// whereabouts says where the account is now.
func whereabouts(joined bool) string {
	if joined {
		return "the account was added to a group; it answers there if access allows the group"
	}
	return "the account was removed from a group; nothing reaches it"
}

// known is somebody of whom no more is told than an address.
func (in inbound) known(ctx context.Context, jid types.JID) chat.Sender {
	person, aliases := in.person(ctx, jid, types.EmptyJID)
	return chat.Sender{ID: chat.UserID(person.String()), Aliases: aliases, IsSelf: in.account().is(person)}
}
