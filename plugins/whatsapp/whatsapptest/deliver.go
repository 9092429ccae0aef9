package whatsapptest

import (
	"context"
	"maps"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
)

// delivery is a message on its way to the device, or the notice of a change. A message is encrypted once, and the same at
// each redelivery, unless the device asks the sender's phone to encrypt it again.
type delivery struct {
	id      types.MessageID
	from    *Person
	to      types.JID // the group, or for the account's owner the other person; empty: the account
	message *waE2E.Message
	edit    types.EditAttribute
	stanza  *waBinary.Node // nil: not encrypted yet
	sentOn  *conn
	sentAt  time.Time // when the network had it first
	held    *conn     // on which the network has let others pass
	kept    bool      // the network has it until it is let go
	renew   bool      // the device could not decrypt it
	retries int
	acked   bool
	// torn says that the first part alone came to the device, and opened that it has said that it has read it.
	torn, opened bool
}

// write sends a node to a client.
func (s *Server) write(c *conn, node waBinary.Node) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(c, node)
}

// put is write with the lock held.
func (s *Server) put(c *conn, node waBinary.Node) error {
	plain, err := waBinary.Marshal(node)
	if err != nil {
		return err
	}
	o := outgoing{plain: plain}
	if s.chance(s.faults.Slow) {
		o.after = time.Duration(s.dice.IntN(20)) * time.Millisecond
	}
	c.enqueue(o)
	return nil
}

// flush delivers what the connected device has not been sent on its connection. It is called with the lock held.
func (s *Server) flush() error {
	if s.current == nil || s.bundle == nil || s.logins == 0 {
		return nil
	}
	for _, d := range s.queue {
		c := s.current
		if c == nil {
			return nil
		}
		if d.sentOn == c || d.kept {
			continue
		}
		stanza, err := s.stanza(d)
		if err != nil {
			return err
		}
		if d.held != c && s.chance(s.faults.Reorder) {
			d.held = c
			s.later(5 * time.Millisecond)
			continue
		}
		if err := s.deliver(c, d, stanza); err != nil {
			return err
		}
	}
	return nil
}

// deliver puts one message on the wire, with all that may happen to it there.
func (s *Server) deliver(c *conn, d *delivery, stanza waBinary.Node) error {
	if s.chance(s.faults.Garbage) {
		c.enqueue(outgoing{plain: s.garbage(d)})
	}
	d.sentOn = c
	if parts, _ := stanza.Content.([]waBinary.Node); s.tear && len(parts) > 1 {
		s.tear, d.torn = false, true
		stanza.Content = parts[:1]
	}
	if d.sentAt.IsZero() {
		d.sentAt = time.Now()
	}
	times := 1
	if s.chance(s.faults.Duplicate) {
		times = 2
	}
	for range times {
		if err := s.put(c, stanza); err != nil {
			return err
		}
	}
	switch {
	case s.chance(s.faults.Cut):
		s.drop()
	case s.chance(s.faults.Close):
		if err := s.put(c, streamError("503", "")); err != nil {
			return err
		}
		s.drop()
	}
	return nil
}

// later flushes again after a time.
func (s *Server) later(after time.Duration) {
	s.sessions.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.life.Done():
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flush() != nil {
			s.drop()
		}
	})
}

func (s *Server) stanza(d *delivery) (waBinary.Node, error) {
	if d.stanza != nil {
		again := *d.stanza
		again.Attrs = maps.Clone(again.Attrs)
		again.Attrs["offline"] = "1"
		return again, nil
	}
	attrs := waBinary.Attrs{"id": d.id, "t": time.Now().Unix(), "type": "text", "notify": d.from.Name}
	if d.edit != "" {
		attrs["edit"] = string(d.edit)
	}
	content, err := s.address(d, attrs)
	if err != nil {
		return waBinary.Node{}, err
	}
	if d.retries > 0 {
		for i := range content {
			content[i].Attrs["count"] = d.retries
		}
	}
	node := waBinary.Node{Tag: "message", Attrs: attrs, Content: content}
	if d.retries == 0 && s.chance(s.faults.Spoil) {
		// The session goes on without the message, as it does when a phone's app was restored from a backup.
		content[0].Content = spoilt(content[0].Content)
	}
	d.stanza = &node
	return node, nil
}

func spoilt(content any) []byte {
	raw, _ := content.([]byte)
	spoilt := append([]byte{}, raw...)
	spoilt[len(spoilt)-1] ^= 1
	return spoilt
}

// address fills in from whom a message is and where it goes, and encrypts it for the device.
func (s *Server) address(d *delivery, attrs waBinary.Attrs) ([]waBinary.Node, error) {
	if d.to.Server == types.GroupServer {
		attrs["from"], attrs["participant"], attrs["participant_pn"] = d.to, d.from.LID, d.from.PN
		attrs["addressing_mode"] = "lid"
		return d.from.encryptGroup(s.life, d.to, d.message)
	}
	message := d.message
	if d.to.IsEmpty() {
		attrs["from"], attrs["sender_lid"] = d.from.PN, d.from.LID
	} else {
		attrs["from"], attrs["recipient"] = d.from.LID, d.to
		destination := d.to.String()
		message = &waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{DestinationJID: &destination, Message: d.message}}
	}
	part, err := d.from.encrypt(s.life, message)
	return []waBinary.Node{part}, err
}

// again makes the sender's phone encrypt a message again, once the device has acknowledged the one that it could not read.
func (s *Server) again(id types.MessageID) {
	s.retries++
	if d, ok := s.byID[id]; ok {
		d.renew = true
	}
}

// acknowledge takes a message off the queue. It is called with the lock held.
func (s *Server) acknowledge(id types.MessageID) error {
	for i, d := range s.queue {
		if d.id != id {
			continue
		}
		if d.torn && !d.opened {
			d.opened = true
			s.notify()
			return nil
		}
		if d.renew {
			d.renew, d.stanza, d.sentOn = false, nil, nil
			d.retries++
			d.from.renew = true
			return s.flush()
		}
		d.acked = true
		s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
		s.notify()
		return nil
	}
	return nil
}

// Acknowledged reports whether the device has acknowledged a message.
func (s *Server) Acknowledged(id types.MessageID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.byID[id]
	return ok && d.acked
}

// SentAt returns when a message was on its way to the device first, written and encrypted; the zero time before.
func (s *Server) SentAt(id types.MessageID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.byID[id]; ok {
		return d.sentAt
	}
	return time.Time{}
}

// Unacknowledged is how many messages the device has not acknowledged.
func (s *Server) Unacknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// AwaitAcknowledged waits until the device has acknowledged all messages.
func (s *Server) AwaitAcknowledged(ctx context.Context) error {
	return s.AwaitUnacknowledged(ctx, 0)
}

// AwaitUnacknowledged waits until there are no more messages than most that the device has not acknowledged.
func (s *Server) AwaitUnacknowledged(ctx context.Context, most int) error {
	return s.await(ctx, func() bool { return len(s.queue) <= most })
}

// Cut breaks the device's connection.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// Down has WhatsApp be away until [Server.Up]: connections are cut, and new ones without an answer. What is said meanwhile
// waits.
func (s *Server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.turnedAway = true, 0
	s.drop()
}

// AwaitTurnedAway waits until the device, which has then noticed that WhatsApp is away, has tried to connect since.
func (s *Server) AwaitTurnedAway(ctx context.Context) error {
	return s.await(ctx, func() bool { return s.turnedAway > 0 })
}

// Up has WhatsApp be there again.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

// drop ends the connection behind what is under way.
func (s *Server) drop() {
	if s.current != nil {
		s.current.enqueue(outgoing{end: true})
		s.current = nil
	}
}

// RefuseLogins has logins fail by a reason: 401 logged out, 402 banned for a while, 405 outdated; zero: they succeed.
func (s *Server) RefuseLogins(reason int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = reason
}

// Unlink has the account's phone remove the linked device.
func (s *Server) Unlink() error { return s.end("401", "device_removed") }

// Replace tells the device that its keys are in use elsewhere.
func (s *Server) Replace() error { return s.end("", "replaced") }

func (s *Server) end(code, conflict string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil
	}
	return s.put(s.current, streamError(code, conflict))
}
