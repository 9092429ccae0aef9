package view

import (
	"context"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Deliveries knows which items wait for chats.
type Deliveries interface {
	// OldestUndelivered returns when the oldest item was posted that waits to be sent to a chat; the zero time: none
	// waits.
	OldestUndelivered(ctx context.Context, to chat.Address) (time.Time, error)
}

// Chats knows which chats show a turn, and signals in them that an answer is being written. A network's draft ends with
// any message after it, even if that is not part of the answer, such as a question; it is shown again then. It is safe
// for concurrent use.
type Chats struct {
	plugins    *plugins.Registry
	deliveries Deliveries
	typist     *typist

	mu    sync.Mutex
	shown map[*stream.Stream]chat.Address
}

// NewChats returns chats in which nothing is shown.
func NewChats(plugins *plugins.Registry, deliveries Deliveries) *Chats {
	c := &Chats{plugins: plugins, deliveries: deliveries, shown: map[*stream.Stream]chat.Address{}}
	c.typist = newTypist(c)
	return c
}

// Typing signals once in a chat that an answer is being written. It does not block.
func (c *Chats) Typing(to chat.Address) { c.typist.once(to) }

// Delivered receives the destination of each item that no longer waits, because it was sent or given up. It does not
// block.
func (c *Chats) Delivered(to chat.Address) {
	c.typist.delivered(to)
	c.each(to, (*stream.Stream).Redraw)
}

// Asking moves what a chat's turn shows behind the question, if that was sent now, and hides its running tools until
// answered is called.
func (c *Chats) Asking(to chat.Address, sent bool) (answered func()) {
	if sent {
		c.Leave(to)
	}
	c.each(to, (*stream.Stream).Pause)
	return func() { c.each(to, (*stream.Stream).Resume) }
}

// Wait returns when all typing signals have ended, after the end of all turns. It waits neither for undelivered items
// nor, for long, for a plugin that does not answer.
func (c *Chats) Wait() { c.typist.wait() }

// typing starts the typing signal in a run's chat, if the channel can and the config wants it; else nil.
func (c *Chats) typing(run *conversation.Turn) *typing {
	m := run.Head.Message
	settings, limits := run.Settings.Reply, run.Limits
	background := m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat
	if settings.Typing == "never" || limits.TypingTTL == 0 || m.Silent || background {
		return nil
	}
	return c.typist.show(m.Address(), min(settings.TypingInterval, limits.TypingTTL), settings.Typing == "message" || run.Listening)
}

// signal implements [signals].
func (c *Chats) signal(ctx context.Context, to chat.Address, active bool) {
	live, ok := c.plugins.Get(to.Channel)
	if !ok {
		return
	}
	_ = live.Typing(ctx, to, active) // Failures do not matter.
	if !active {
		c.each(to, (*stream.Stream).Redraw) // A turn that is silent must remain visible.
	}
}

// pending implements [signals].
func (c *Chats) pending(ctx context.Context, to chat.Address) bool {
	since, err := c.deliveries.OldestUndelivered(ctx, to)
	return err == nil && !since.IsZero()
}

// begin registers the stream of a chat until end is called.
func (c *Chats) begin(s *stream.Stream, to chat.Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown[s] = to
}

func (c *Chats) end(s *stream.Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shown, s)
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
