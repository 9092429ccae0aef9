package activity

import (
	"context"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// typingCall bounds one typing signal: a late one is useless.
	typingCall = 5 * time.Second
	// typingPatience is how long the signal goes on without any progress of the turn.
	typingPatience = 2 * time.Minute
	// typingSeal is how long the signal goes on while the answer is not delivered.
	typingSeal = 10 * time.Second
	// typingFarewell bounds the signals that are running when the host stops, including those that end a signal.
	typingFarewell = time.Second
)

// Wait returns when all typing signals have ended, after the end of all turns. It waits neither for undelivered items
// nor, for long, for a plugin that does not answer.
func (c *Chats) Wait() {
	c.leave.Do(func() { close(c.leaving) })
	farewell := time.AfterFunc(typingFarewell, c.cancel)
	defer farewell.Stop()
	c.work.Wait()
}

// signal starts or ends the typing indicator. Failures do not matter.
func (c *Chats) signal(to chat.Address, active bool) {
	live, ok := c.plugins.Get(to.Channel)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(c.calls, typingCall)
	defer cancel()
	_ = live.Typing(ctx, to, active)
	if !active {
		c.each(to, (*stream.Stream).Redraw) // A turn that is silent must remain visible.
	}
}

// pending reports whether items wait to be sent to a chat.
func (c *Chats) pending(to chat.Address) bool {
	since, err := c.store.OldestUndelivered(c.calls, to)
	return err == nil && !since.IsZero()
}

// arrived notes that something has arrived in a chat.
func (c *Chats) arrived(to chat.Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.typing {
		if s.to == to {
			poke(s.arrived)
		}
	}
}

// Typing shows the indicator in one chat until the turn has ended and the answer is delivered, and not again
// afterwards.
type Typing struct {
	chats   *Chats
	to      chat.Address
	every   time.Duration // between two signals
	late    bool          // from the answer's first word, not from the turn's beginning
	alive   chan struct{} // the turn made progress
	words   chan struct{} // the progress was a part of the answer
	once    sync.Once
	ended   chan struct{}
	arrived chan struct{} // something arrived in the chat
}

// start starts the indicator in a chat, if late with the answer's first word.
func (c *Chats) start(to chat.Address, every time.Duration, late bool) *Typing {
	s := &Typing{
		chats: c, to: to, every: every, late: late,
		alive: make(chan struct{}, 1), words: make(chan struct{}, 1), ended: make(chan struct{}), arrived: make(chan struct{}, 1),
	}
	c.mu.Lock()
	c.typing[s] = true
	c.mu.Unlock()
	c.work.Go(func() {
		s.run()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.typing, s)
	})
	return s
}

// Heard notes progress of the turn; words reports whether it was a part of the answer.
func (s *Typing) Heard(words bool) {
	poke(s.alive)
	if words {
		poke(s.words)
	}
}

// End notes that the turn has ended.
func (s *Typing) End() { s.once.Do(func() { close(s.ended) }) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run signals at once and then at each interval.
func (s *Typing) run() {
	if s.late {
		select {
		case <-s.words:
		case <-s.ended:
			return
		}
	}
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	s.chats.signal(s.to, true)
	for heard := time.Now(); ; {
		select {
		case <-s.ended:
			s.seal(tick.C)
			return
		case <-s.alive:
			if time.Since(heard) > typingPatience {
				s.chats.signal(s.to, true)
			}
			heard = time.Now()
		case <-tick.C:
			if time.Since(heard) <= typingPatience {
				s.chats.signal(s.to, true)
			}
		}
	}
}

// seal continues until the answer is delivered, and ends the signal.
func (s *Typing) seal(tick <-chan time.Time) {
	last := time.NewTimer(typingSeal)
	defer last.Stop()
	for s.chats.pending(s.to) {
		select {
		case <-s.arrived:
			continue
		case <-tick:
			s.chats.signal(s.to, true)
			continue
		case <-last.C:
		case <-s.chats.leaving:
		}
		break
	}
	s.chats.signal(s.to, false)
}
