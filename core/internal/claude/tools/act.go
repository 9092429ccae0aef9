package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// otherSelf is who writes to a session for the agent.
const otherSelf = "You, in another conversation"

// act sends to a session, compacts or resets it.
func (s *Server) act(ctx context.Context, t *Turn, visible []domain.Session, action, name, text, use string) (string, error) {
	text = strings.TrimSpace(wire.Repair(text))
	switch {
	case t.caller.Authority != chat.Owner || t.caller.Kind != chat.Direct:
		return "", Refusal("That is possible only in an owner's direct chat.")
	case t.caller.Sender.IsBot:
		return "", Refusal("A person must have asked for that: this turn was begun by a program, or by you.")
	case name == "" && action != "compact":
		return "", Refusal(`Which session? Give its key or label as "session".`)
	case action == "send" && text == "":
		return "", Refusal(`There is nothing to send: give a "text".`)
	case action == "reset" && text != "":
		return "", Refusal(`"text" is for sending and compacting only.`)
	case len(text) > wire.MaxToolText:
		return "", Refusal(fmt.Sprintf("The text has %d bytes, at most %d are sent.", len(text), wire.MaxToolText))
	}
	one, err := s.named(t.caller, visible, cmp.Or(name, t.caller.Session))
	switch {
	case err != nil:
		return "", err
	case one.Key == t.caller.Session && action != "compact":
		return "", Refusal("This is that conversation. Your owner can reset it by /new.")
	case !s.sameOwner(t.caller, one):
		return "", Refusal(fmt.Sprintf("The session %q is somebody else's.", one.Key))
	case !t.mayPost():
		return "", tooMany
	}
	m := domain.Message{Sender: chat.Sender{DisplayName: otherSelf, IsBot: true}, Text: text}
	if action == "compact" {
		m.Origin = domain.OriginCompact
	}
	ok, err := s.options.Intake.FromAgent(ctx, t.key(use, action, one.Key, text), one, m, action == "reset")
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", Refusal(fmt.Sprintf("The session %q cannot take it: too much waits there, or it has no chat of its own any more.", one.Key))
	}
	return map[string]string{
		"send": "It waits for its turn there. The answer goes to that chat.", "compact": "It will be compacted.", "reset": "It starts over.",
	}[action], nil
}

// sameOwner reports whether a session is the direct one of a caller, under any linked identity, or of a group that owners may
// write in.
func (s *Server) sameOwner(caller chat.Caller, one domain.Session) bool {
	if one.Key == caller.Session {
		return true
	}
	if one.Kind != chat.Direct {
		return s.owns(one)
	}
	var self []string
	for _, id := range caller.Sender.IDs() {
		self = append(self, caller.Address.Channel+":"+string(id))
	}
	for _, linked := range s.links() {
		if slices.ContainsFunc(linked, func(person string) bool { return slices.Contains(self, person) }) {
			self = append(self, linked...)
		}
	}
	if slices.ContainsFunc(one.Peer, func(id chat.UserID) bool { return slices.Contains(self, one.Route.Channel+":"+string(id)) }) {
		return true
	}
	name, err := session.Parse(one.Key)
	if err != nil {
		return false
	}
	if name.Identity == "" { // only the key names the person of a heartbeat's own conversation
		return slices.Contains(self, name.Channel+":"+string(name.User))
	}
	return slices.ContainsFunc(s.links()[name.Identity], func(person string) bool { return slices.Contains(self, person) })
}
