package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// page and maxSessions limit how many sessions are read.
	page        = 1000
	maxSessions = 20_000
)

// escape escapes a part of a chat's name as in session keys.
var escape = strings.NewReplacer("%", "%25", ":", "%3A")

// chatName returns the agent's name for a chat: channel:chat, with :thread for a thread.
func chatName(a chat.Address) string {
	name := escape.Replace(a.Channel) + ":" + escape.Replace(string(a.Chat))
	if a.Thread != "" {
		name += ":" + escape.Replace(string(a.Thread))
	}
	return name
}

// sessions returns all sessions, in the order of their keys.
func (s *Server) sessions(ctx context.Context) ([]domain.Session, error) {
	var all []domain.Session
	for after := ""; len(all) < maxSessions; after = all[len(all)-1].Key {
		list, err := s.options.Store.Sessions(ctx, after, page)
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		all = append(all, list...)
		if len(list) < page {
			break
		}
	}
	return all, nil
}

// reachable returns the other chats that the agent may write to for a caller. For an owner: the direct chats of owners, and
// the groups that owners may write in, as far as they have a session. For others: none.
func (s *Server) reachable(ctx context.Context, caller chat.Caller) ([]domain.Session, error) {
	if caller.Authority != chat.Owner {
		return nil, nil
	}
	all, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[chat.Address]bool{caller.Address: true, {}: true}
	return slices.DeleteFunc(all, func(one domain.Session) bool {
		if seen[one.Route] || !s.owns(one) {
			return true
		}
		seen[one.Route] = true
		return false
	}), nil
}

// owns reports whether owners read a session's chat, or write in it.
func (s *Server) owns(one domain.Session) bool {
	if one.Kind != chat.Direct {
		return s.options.Conversations.OwnersWrite(one.Route.Channel, one.Route.Chat)
	}
	if slices.ContainsFunc(one.Peer, func(id chat.UserID) bool { return s.isOwner(one.Route.Channel + ":" + string(id)) }) {
		return true
	}
	name, err := session.Parse(one.Key)
	return err == nil && name.Identity != "" && slices.ContainsFunc(s.links()[name.Identity], s.isOwner)
}

// isOwner reports whether a person, as channel:user, is an owner.
func (s *Server) isOwner(person string) bool {
	channel, _, _ := strings.Cut(person, ":")
	return slices.Contains(s.options.Conversations.Owners(channel), person)
}

// chatNames lists chats for the model.
func chatNames(chats []domain.Session) string {
	const most = 30
	var names []string
	for _, c := range chats[:min(len(chats), most)] {
		name := chatName(c.Route)
		if title := c.Title; title != "" {
			name += fmt.Sprintf(" (%s %q)", c.Kind, title)
		}
		names = append(names, name)
	}
	if more := len(chats) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
