// Package whatsapptest is a WhatsApp server on loopback for tests: one account with one linked device, and the people
// that it talks to. The device connects by the real protocol, with the Noise handshake, pairing, and Signal sessions of
// its own with each person, and what it does not acknowledge is delivered to it again when it connects the next time.
package whatsapptest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.mau.fi/libsignal/logger"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// Server is a WhatsApp server.
type Server struct {
	http    *httptest.Server
	root    *keys.KeyPair
	primary *keys.KeyPair // the identity of the account's phone
	life    context.Context
	cease   context.CancelFunc
	group   types.JID

	mu       sync.Mutex
	changed  chan struct{} // closed at each change
	current  *conn         // the device's connection, once logged in or waiting to be paired
	bundle   *bundle       // the device's public keys; nil before it has uploaded them
	people   map[string]*Person
	byID     map[string]*delivery
	shown    []*Message
	albums   map[types.MessageID]int // how many files those have that were announced
	queue    []*delivery             // what the device has not acknowledged, in order
	refusal  int                     // the reason by which logins fail; zero: they do not
	faults   Faults
	dice     *rand.Rand
	tear     bool // the next message of several parts is torn
	paired   chan struct{}
	retries  int
	unread   int
	requests map[types.MessageID]*Person // what phones wait for that could not read it
	logins   int
	typing   map[types.JID]string
	presence string
	read     map[types.MessageID]bool
	linking  *linking // by a code; nil: none is under way
	mute     bool     // nothing is said after pairing
	files    map[string][]byte
	settings []byte // that the account's phone has shared
	// brokenMedia is the status that answers everything; zero: the media server works.
	brokenMedia int
	fetched     int // files that were asked for and there

	// down says that WhatsApp is away: every connection is cut, and counted.
	down       bool
	turnedAway int

	sessions sync.WaitGroup
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Stop)
	return s
}

// logging has the Signal library make its logger, which servers that start side by side would make at the same time.
var logging sync.Once

// Start starts a server. The caller stops it. What can only fail by a mistake of the caller's panics.
func Start() *Server {
	logging.Do(func() { logger.Debug("a WhatsApp server starts") })
	ctx, cease := context.WithCancel(context.Background())
	s := &Server{
		root:    rootKey(),
		primary: keys.NewKeyPair(),
		life:    ctx,
		cease:   cease,
		group:   types.NewJID("120363000000000001", types.GroupServer),
		changed: make(chan struct{}),
		people:  map[string]*Person{},
		byID:    map[string]*delivery{},
		albums:  map[types.MessageID]int{},
		dice:    rand.New(rand.NewPCG(1, 1)),
		paired:  make(chan struct{}, 1),
		typing:  map[types.JID]string{},
		read:    map[types.MessageID]bool{},

		requests: map[types.MessageID]*Person{},
		files:    map[string][]byte{},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Stop ends the server.
func (s *Server) Stop() {
	s.cease()
	s.Cut()
	s.sessions.Wait()
	s.http.Close()
}

// rootKey is the same in each server, for a process can trust one root only.
func rootKey() *keys.KeyPair {
	return keys.NewKeyPairFromPrivateKey(sha256.Sum256([]byte("the root of the loopback WhatsApp servers")))
}

// URL is where the server listens, such as http://127.0.0.1:4711.
func (s *Server) URL() string { return s.http.URL }

// Root is the public key that the server's certificates lead to, in hex.
func (s *Server) Root() string { return hex.EncodeToString(s.root.Pub[:]) }

// Group is the chat that the account and all people are in.
func (s *Server) Group() types.JID { return s.group }

// device and deviceLID are the linked device's addresses.
func device() types.JID {
	return types.JID{User: "15550000001", Server: types.DefaultUserServer, Device: 3}
}

func deviceLID() types.JID {
	return types.JID{User: "900000000001", Server: types.HiddenUserServer, Device: 3}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down := s.down
	if down {
		s.turnedAway++
		s.notify()
	}
	s.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler) // The connection is cut without an answer.
	}
	if r.URL.Path != "/ws/chat" {
		s.serveMedia(w, r)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	s.sessions.Add(1)
	defer s.sessions.Done()
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxRead)
	c := newConn(ws)
	payload, err := c.shake(s.life, s.root)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	var draining sync.WaitGroup
	draining.Go(func() { c.drain(ctx) })
	defer draining.Wait()
	defer cancel()
	defer s.left(c)
	if err := s.welcome(c, payload.Username != nil); err != nil {
		return
	}
	for {
		node, err := c.read(s.life)
		if err != nil {
			return
		}
		if err := s.handle(c, node); err != nil {
			return
		}
	}
}

// left forgets a connection that has ended.
func (s *Server) left(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == c {
		s.current = nil
	}
}

// welcome says the first word to a client: how to pair, that it is refused, or what it has missed.
func (s *Server) welcome(c *conn, loggingIn bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !loggingIn:
		s.current = c
		s.notify()
		return s.put(c, pairing())
	case s.refusal != 0:
		return s.put(c, waBinary.Node{Tag: "failure", Attrs: waBinary.Attrs{"reason": s.refusal, "location": "test"}})
	}
	s.current = c
	s.logins++
	s.notify()
	if err := s.put(c, waBinary.Node{Tag: "success", Attrs: waBinary.Attrs{"t": time.Now().Unix(), "lid": deviceLID()}}); err != nil {
		return err
	}
	for id, p := range s.requests {
		if err := s.request(c, p, id); err != nil {
			return err
		}
	}
	missed := len(s.queue)
	if err := s.flush(); err != nil {
		return err
	}
	return s.put(c, waBinary.Node{Tag: "ib", Attrs: waBinary.Attrs{"from": types.ServerJID}, Content: []waBinary.Node{
		{Tag: "offline", Attrs: waBinary.Attrs{"count": missed}},
	}})
}

func (s *Server) handle(c *conn, node *waBinary.Node) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	attrs := node.AttrGetter()
	id := attrs.OptionalString("id")
	switch node.Tag {
	case "iq":
		return s.answer(c, node)
	case "message":
		return s.take(c, node)
	case "receipt":
		switch attrs.OptionalString("type") {
		case "retry":
			s.again(id)
		case "", "inactive", "sender":
			if err := s.acknowledge(id); err != nil {
				return err
			}
		case "read":
			s.read[id] = true
			list, _ := node.GetOptionalChildByTag("list")
			for _, item := range list.GetChildren() {
				more := item.AttrGetter()
				s.read[more.OptionalString("id")] = true
			}
			s.notify()
		}
		return s.put(c, waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{"class": "receipt", "id": id, "from": types.ServerJID}})
	case "ack":
		if class := attrs.OptionalString("class"); class == "message" || class == "notification" {
			return s.acknowledge(id)
		}
	case "presence":
		s.presence = attrs.OptionalString("type")
		s.notify()
	case "chatstate":
		if children := node.GetChildren(); len(children) > 0 {
			s.typing[attrs.JID("to")] = children[0].Tag
			s.notify()
		}
	}
	return nil
}

// notify wakes those who wait for a change. It is called with the lock held.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// patience bounds waits whose caller sets no deadline.
const patience = 30 * time.Second

// await waits until done, which is called with the server locked, or until ctx ends.
func (s *Server) await(ctx context.Context, done func() bool) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for {
		s.mu.Lock()
		ready, changed := done(), s.changed
		s.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Retries is how often the device could not decrypt a message and asked for it again.
func (s *Server) Retries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retries
}

// AwaitLogins waits until the device has logged in so many times.
func (s *Server) AwaitLogins(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return s.logins >= n })
}

// AwaitTyping waits until the device shows a state, "composing" or "paused", in a chat.
func (s *Server) AwaitTyping(ctx context.Context, chat types.JID, state string) error {
	return s.await(ctx, func() bool { return s.typing[chat] == state })
}

// AwaitRead waits until the device has shown that a message was read.
func (s *Server) AwaitRead(ctx context.Context, id types.MessageID) error {
	return s.await(ctx, func() bool { return s.read[id] })
}

// Read reports whether the device has shown that a message was read.
func (s *Server) Read(id types.MessageID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[id]
}

// Presence is what the device said last of being online, "available" or "unavailable"; empty: nothing.
func (s *Server) Presence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presence
}

// AwaitPresence waits until the device has said that it is "available" or "unavailable".
func (s *Server) AwaitPresence(ctx context.Context, presence string) error {
	return s.await(ctx, func() bool { return s.presence == presence })
}

// Logins is how often the device has logged in.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Unread is how often a person's phone could not decrypt a message of the device, and asked for it again.
func (s *Server) Unread() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unread
}
