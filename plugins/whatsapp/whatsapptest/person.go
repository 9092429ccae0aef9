package whatsapptest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// Person is a user with a phone, whom the account talks to.
type Person struct {
	// PN and LID are the person's two addresses: by phone number, and the hidden one.
	PN, LID types.JID
	// Name is what the person calls themselves. It must not be changed once they have written.
	Name string

	server *Server
	number int
	said   int
	keys   *store.Device
	heard  []Heard // guarded by the server's lock
	known  map[string]bool
	renew  bool // the next message begins a new session with the device
	hidden bool // the server does not give out the person's keys
	refuse int  // the error that answers what is sent to the person; zero: none
}

// Heard is a message that reached a person.
type Heard struct {
	ID      types.MessageID
	Chat    types.JID // the group, or the person
	Message *waE2E.Message
	Again   bool // the same id had come before, and the person's phone shows it once

	server *Server
}

// Text is what a message says, a caption or an edit's new text too.
func (h Heard) Text() string { return textOf(h.Message) }

// File fetches and decrypts the file of a message, as a phone does.
func (h Heard) File() ([]byte, error) { return h.server.file(h.Message) }

// Person returns the person with a number, who is made the first time.
func (s *Server) Person(number int) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Person{
		PN:     types.NewJID(fmt.Sprintf("1555%07d", number+1), types.DefaultUserServer),
		LID:    types.NewJID(fmt.Sprintf("9000%08d", number+1), types.HiddenUserServer),
		server: s,
		number: number,
		known:  map[string]bool{},
	}
	p.Name = "Person " + p.PN.User
	if known, ok := s.people[p.LID.User]; ok {
		return known
	}
	identity := s.primary
	if number > 0 {
		identity = keys.NewKeyPair()
	}
	p.keys = newKeys(identity)
	s.people[p.LID.User] = p
	return p
}

// personOf finds a person by either address. It is called with the lock held.
func (s *Server) personOf(jid types.JID) *Person {
	for _, p := range s.people {
		if p.LID.User == jid.User || p.PN.User == jid.User {
			return p
		}
	}
	return nil
}

// Say has the person write a text to the account and returns the message's id.
func (p *Person) Say(text string) types.MessageID {
	return p.Send(&waE2E.Message{Conversation: proto.String(text)})
}

// Delete has the person delete one of their messages for everybody.
func (p *Person) Delete(id types.MessageID) types.MessageID {
	return p.Send(&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_REVOKE.Enum(), Key: &waCommon.MessageKey{FromMe: proto.Bool(true), ID: proto.String(id)},
	}})
}

// Edit has the person change one of their messages.
func (p *Person) Edit(id types.MessageID, text string) types.MessageID {
	return p.Send(&waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{FromMe: proto.Bool(true), ID: proto.String(id)},
		EditedMessage: &waE2E.Message{Conversation: proto.String(text)},
	}}}})
}

// Send has the person send a message to the account, in their direct chat.
func (p *Person) Send(m *waE2E.Message) types.MessageID { return p.post(types.EmptyJID, m) }

// SendGroup has the person send a message to the group.
func (p *Person) SendGroup(m *waE2E.Message) types.MessageID { return p.post(p.server.group, m) }

// Type has the person write to the account, or stop, as phones show it: in the group if it is the chat. Only a device that is online
// learns of it. It reports whether the device does.
func (p *Person) Type(chat types.JID, composing bool) (seen bool) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.presence != "available" || s.current == nil {
		return false
	}
	attrs, state := waBinary.Attrs{"from": p.LID}, "paused"
	if chat == s.group {
		attrs = waBinary.Attrs{"from": chat, "participant": p.LID, "participant_pn": p.PN, "addressing_mode": "lid"}
	}
	if composing {
		state = "composing"
	}
	return s.put(s.current, waBinary.Node{Tag: "chatstate", Attrs: attrs, Content: []waBinary.Node{{Tag: state}}}) == nil
}

func (p *Person) post(to types.JID, m *waE2E.Message) types.MessageID {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	p.said++
	d := &delivery{from: p, to: to, message: m, id: fmt.Sprintf("3AFE%04d%08d", p.number, p.said)}
	if revoked := m.GetProtocolMessage(); revoked.GetType() == waE2E.ProtocolMessage_REVOKE && revoked != nil {
		d.edit = types.EditAttributeSenderRevoke
		if !revoked.GetKey().GetFromMe() {
			d.edit = types.EditAttributeAdminRevoke
		}
	}
	in := to
	if to.IsEmpty() {
		in = p.LID
	}
	s.show(in, p.LID, d.id, m)
	s.enqueue(d)
	return d.id
}

// enqueue has something delivered. It is called with the lock held.
func (s *Server) enqueue(d *delivery) {
	s.byID[d.id] = d
	s.queue = append(s.queue, d)
	if err := s.flush(); err != nil {
		s.drop() // As any server does with a connection that is broken.
	}
}

// Owner is the account's owner, who writes with the phone that the device is linked to.
func (s *Server) Owner() *Person { return s.Person(0) }

// SayTo has the account's owner write a message to a person with the phone, themselves too. The device sees it as well.
func (p *Person) SayTo(other *Person, m *waE2E.Message) types.MessageID {
	if p.number != 0 {
		panic("only the owner's messages reach the device as its own")
	}
	return p.post(other.LID, m)
}

// Refuse has the server answer what is sent to the person with an error, such as 403.
func (p *Person) Refuse(code int) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.refuse = code
}

// HideKeys has the server withhold the keys by which a session with the person begins, or give them out again.
func (p *Person) HideKeys(hide bool) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.hidden = hide
}

// Heard returns what reached the person, in order, but for what came again.
func (p *Person) Heard() []Heard {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.shown()
}

func (p *Person) shown() []Heard {
	var once []Heard
	for _, h := range p.heard {
		if !h.Again {
			once = append(once, h)
		}
	}
	return once
}

// AwaitHeard waits until so many messages have reached the person.
func (p *Person) AwaitHeard(ctx context.Context, n int) ([]Heard, error) {
	err := p.server.await(ctx, func() bool { return len(p.shown()) >= n })
	return p.Heard(), err
}

// take takes a message of the device to those it is for. It is called with the lock held.
func (s *Server) take(c *conn, node *waBinary.Node) error {
	attrs := node.AttrGetter()
	id, to := attrs.String("id"), attrs.JID("to")
	ack := waBinary.Attrs{"class": "message", "id": id, "from": to}
	if s.chance(s.faults.Throttle) {
		ack["error"] = 429
		return s.put(c, waBinary.Node{Tag: "ack", Attrs: ack})
	}
	readers := []*Person{s.personOf(to)}
	if to == s.group {
		readers = readers[:0]
		for _, p := range s.people {
			readers = append(readers, p)
		}
	}
	readers = slices.DeleteFunc(readers, func(p *Person) bool {
		switch {
		case p == nil:
			ack["error"] = 404
		case p.refuse != 0:
			ack["error"] = p.refuse
		default:
			return false
		}
		return true
	})
	// The server does not wait for the phones, nor does who asks it here see it do so: it is locked.
	lost := s.chance(s.faults.LoseAck)
	if !lost {
		ack["t"] = node.AttrGetter().OptionalInt("t")
		if err := s.put(c, waBinary.Node{Tag: "ack", Attrs: ack}); err != nil {
			return err
		}
	}
	for _, p := range readers {
		m, err := p.decrypt(s.life, node, to)
		if err != nil && p.known[id] {
			continue // The same bytes once more, which a phone has read already.
		}
		if errors.Is(err, errNotForThem) && to != s.group {
			continue // There is nothing to take to the phone. The server says that it has it all the same.
		}
		if err != nil {
			s.unread++
			s.requests[id] = p
			if err := s.request(c, p, id); err != nil {
				return err
			}
			continue // The server cannot read it either, and takes it.
		}
		delete(s.requests, id)
		if copied := m.GetDeviceSentMessage().GetMessage(); copied != nil {
			m = copied // What a device of the account says in the chat with oneself.
		}
		chat := to
		if to != s.group {
			chat = p.LID
		}
		s.show(chat, types.EmptyJID, id, m)
		if m.GetAlbumMessage() == nil { // Phones show the files only.
			p.heard = append(p.heard, Heard{ID: id, Chat: chat, Message: m, Again: p.known[id], server: s})
		}
		p.known[id] = true
	}
	s.notify()
	if lost {
		s.drop()
	}
	return nil
}
