// Package activity knows which chats show a turn, and signals in them that an answer is being written.
package activity

import (
	"context"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Chats are the chats that show turns. A network's draft ends with any message after it, even if that is not part of the
// answer, such as a question; it is shown again then. It is safe for concurrent use.
type Chats struct {
	plugins *plugins.Registry
	store   *store.Store

	work    sync.WaitGroup // typing signals
	leave   sync.Once
	leaving chan struct{}   // closed by Wait
	calls   context.Context // of all typing signals
	cancel  context.CancelFunc

	mu     sync.Mutex
	shown  map[*stream.Stream]chat.Address
	typing map[*Typing]bool
}

// NewChats returns chats in which nothing is shown.
func NewChats(plugins *plugins.Registry, s *store.Store) *Chats {
	c := &Chats{
		plugins: plugins, store: s, leaving: make(chan struct{}), shown: map[*stream.Stream]chat.Address{}, typing: map[*Typing]bool{},
	}
	c.calls, c.cancel = context.WithCancel(context.Background()) // Signals are ended after the turns' contexts.
	return c
}

// Begin registers the stream of a chat until End is called.
func (c *Chats) Begin(s *stream.Stream, to chat.Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown[s] = to
}

// End notes that a stream shows no turn any more. It may be called again.
func (c *Chats) End(s *stream.Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shown, s)
}

// Delivered receives the destination of each item that no longer waits, because it was sent or given up. It does not
// block.
func (c *Chats) Delivered(to chat.Address) {
	c.arrived(to)
	c.each(to, (*stream.Stream).Redraw)
}

// Asking is called with the chat of a turn that waits for people from now on, until answered is called. Sent reports whether a
// message was sent for it now, there or to a person who may decide; then what the turn shows moves behind it. Its running tools
// are hidden meanwhile.
func (c *Chats) Asking(at chat.Address, sent bool) (answered func()) {
	if sent {
		c.Leave(at)
	}
	c.each(at, (*stream.Stream).Pause)
	return func() { c.each(at, (*stream.Stream).Resume) }
}

// Leave moves what a chat's turn shows behind the messages that were sent there meanwhile. It does not block.
func (c *Chats) Leave(to chat.Address) { c.each(to, (*stream.Stream).Leave) }

func (c *Chats) each(to chat.Address, do func(*stream.Stream)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, at := range c.shown {
		if at == to {
			do(s)
		}
	}
}

// Typing signals once in a chat that an answer is being written. It does not block.
func (c *Chats) Typing(to chat.Address) {
	c.work.Go(func() { c.signal(to, true) })
}

// Type starts the typing signal in a run's chat, if the channel can and the config wants it; else nil.
func (c *Chats) Type(run *conversation.Run) *Typing {
	m := run.Head.Message
	settings, limits := run.Settings.Reply, run.Limits
	background := m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat
	if settings.Typing == "never" || limits.TypingTTL == 0 || m.Silent || background {
		return nil
	}
	return c.start(m.Address(), min(settings.TypingInterval, limits.TypingTTL), settings.Typing == "message" || run.Listening)
}
