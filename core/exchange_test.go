package core_test

import (
	"context"
	"fmt"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Exchange is the network of testdata/exchange. What has arrived stays until the plugin says that the host has it, and what was sent
// under a key that was seen before is the same message. Its exported methods are called by the plugin.
type Exchange struct {
	address  string
	listener net.Listener
	outcome  func(ExchangeSent) string // decides on what is sent: "", "forbidden", "absent", or "lost", whose sender gets no answer

	mu      sync.Mutex
	changed *sync.Cond
	events  []ExchangeEvent
	taken   int
	sent    []ExchangeSent
	closed  bool
}

// ExchangeEvent is what arrives.
type ExchangeEvent struct {
	N                              int
	ID, Chat, Thread, Sender, Text string
	Group                          bool
	File                           string
}

// ExchangeSent is what the host sends, and in records the outcome.
type ExchangeSent struct{ Key, Chat, Thread, Text, Outcome string }

func newExchange(t *testing.T, outcome func(ExchangeSent) string) *Exchange {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{address: listener.Addr().String(), listener: listener, outcome: outcome}
	x.changed = sync.NewCond(&x.mu)
	server := rpc.NewServer()
	if err := server.RegisterName("Exchange", exchangeCalls{x}); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { server.ServeConn(conn) })
		}
	})
	t.Cleanup(func() {
		x.mu.Lock()
		x.closed = true
		x.changed.Broadcast()
		x.mu.Unlock()
		_ = listener.Close()
		serving.Wait() // the plugin has ended with its host
	})
	return x
}

// exchangeCalls are what the plugin calls.
type exchangeCalls struct{ x *Exchange }

// Next returns the next event that the host does not have.
func (c exchangeCalls) Next(_ int, e *ExchangeEvent) error {
	c.x.mu.Lock()
	defer c.x.mu.Unlock()
	for c.x.taken == len(c.x.events) {
		if c.x.closed {
			return context.Canceled
		}
		c.x.changed.Wait()
	}
	*e = c.x.events[c.x.taken]
	return nil
}

// Taken says that the host has an event.
func (c exchangeCalls) Taken(n int, _ *struct{}) error {
	c.x.mu.Lock()
	defer c.x.mu.Unlock()
	if n == c.x.taken {
		c.x.taken++
	}
	c.x.changed.Broadcast()
	return nil
}

// Send takes a message.
func (c exchangeCalls) Send(s ExchangeSent, outcome *string) error {
	c.x.mu.Lock()
	defer c.x.mu.Unlock()
	s.Outcome = c.x.outcome(s)
	c.x.sent = append(c.x.sent, s)
	c.x.changed.Broadcast()
	for s.Outcome == "lost" && !c.x.closed {
		c.x.changed.Wait()
	}
	*outcome = s.Outcome
	return nil
}

// say has somebody write, in a direct chat if the chat is the sender.
func (x *Exchange) say(e ExchangeEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.N, e.ID, e.Group = len(x.events), fmt.Sprintf("e%d", len(x.events)), e.Chat != e.Sender
	x.events = append(x.events, e)
	x.changed.Broadcast()
}

// direct has a person write in their direct chat.
func (x *Exchange) direct(who, text string) {
	x.say(ExchangeEvent{Chat: who, Sender: who, Text: text})
}

// await waits until what was sent so far is enough.
func (x *Exchange) await(t *testing.T, what string, enough func(all []ExchangeSent) bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(20*time.Second, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		late = true
		x.changed.Broadcast()
	})
	defer timer.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for !enough(x.sent) {
		if late {
			t.Fatalf("gave up waiting for %s; %d of %d events are taken; sent were %+v", what, x.taken, len(x.events), x.sent)
		}
		x.changed.Wait()
	}
}

// hears waits for a message with a text in a chat, and returns it.
func (x *Exchange) hears(t *testing.T, chat, text string) (found ExchangeSent) {
	t.Helper()
	x.await(t, fmt.Sprintf("%q in %s", text, chat), func(all []ExchangeSent) bool {
		at := slices.IndexFunc(all, func(s ExchangeSent) bool { return s.Chat == chat && strings.Contains(s.Text, text) })
		if at >= 0 {
			found = all[at]
		}
		return at >= 0
	})
	return found
}

// now returns what has arrived, how much of it the host has, and what was sent.
func (x *Exchange) now() (events []ExchangeEvent, taken int, sent []ExchangeSent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.events), x.taken, slices.Clone(x.sent)
}
