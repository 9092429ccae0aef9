package whatsapptest

import (
	"context"
	"math/rand/v2"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// Faults are the odds, from 0 to 1, of what goes wrong in the network.
type Faults struct {
	Cut       float64 // the connection breaks behind a message to the device
	Close     float64 // the server ends the connection, and says so
	Duplicate float64 // a message to the device comes twice
	Reorder   float64 // a message to the device is overtaken by those behind it
	Spoil     float64 // a message to the device cannot be decrypted; the sender's phone sends it again when it is asked to
	Garbage   float64 // nonsense comes before a message to the device
	Slow      float64 // what the server says takes some milliseconds
	LoseAck   float64 // the connection breaks before a message of the device is acknowledged; it has been taken
	Throttle  float64 // a message of the device is refused, for there were too many
}

// Fault has the network go wrong from now on, in the same way for the same seed and traffic. No faults: all is well.
func (s *Server) Fault(seed uint64, f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.dice = f, rand.New(rand.NewPCG(seed, seed))
}

// Tear has only the first part come of the next message that has several, as those to the group have: the sender's key without
// the message behind it. What the device says to that is lost. The whole message comes on the device's next connection.
func (s *Server) Tear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tear = true
}

// AwaitTorn waits until the device has read the first part of a message that was torn.
func (s *Server) AwaitTorn(ctx context.Context, id types.MessageID) error {
	return s.await(ctx, func() bool { return s.byID[id] != nil && s.byID[id].opened })
}

// Keep has the network keep a message until [Server.LetGo], so that those behind it overtake it.
func (s *Server) Keep(id types.MessageID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[id].kept = true
}

// LetGo delivers a message that was kept.
func (s *Server) LetGo(id types.MessageID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[id].kept = false
	if s.flush() != nil {
		s.drop()
	}
}

func (s *Server) chance(odds float64) bool { return odds > 0 && s.dice.Float64() < odds }

// garbage is nonsense in place of a message: what no server says, and what no phone can have encrypted.
func (s *Server) garbage(d *delivery) []byte {
	random := make([]byte, 40)
	for i := range random {
		random[i] = byte(s.dice.Uint32())
	}
	attrs := waBinary.Attrs{"id": "GARBAGE", "from": d.from.PN, "sender_lid": d.from.LID, "t": "1", "type": "text"}
	node := waBinary.Node{Tag: "message", Attrs: attrs}
	switch s.dice.IntN(7) {
	case 0:
		return random
	case 1:
		node = waBinary.Node{Tag: "nonsense", Attrs: waBinary.Attrs{"from": types.ServerJID}, Content: random}
	case 2:
		node.Attrs = waBinary.Attrs{"id": "GARBAGE"} // without a sender
	case 3:
		node.Content = random
	case 4:
		node.Content = []waBinary.Node{encrypted("msg", random)}
	case 5:
		node.Content = []waBinary.Node{encrypted("pkmsg", random)}
	case 6:
		node = waBinary.Node{Tag: "receipt", Attrs: waBinary.Attrs{"id": "GARBAGE", "from": d.from.PN, "type": "retry"}, Content: random}
	}
	plain, err := waBinary.Marshal(node)
	if err != nil {
		return random
	}
	return plain
}
