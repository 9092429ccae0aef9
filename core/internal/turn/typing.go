package turn

import (
	"context"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// typingCall bounds one typing signal: it is worth nothing later.
	typingCall = 5 * time.Second
	// typingPatience is how long a turn that shows no sign of life is said to be writing.
	typingPatience = 2 * time.Minute
	// typingSeal is how long an answer that is not delivered is said to be written.
	typingSeal = 10 * time.Second
	// typingFarewell is how long the signals that are under way at the end may go on, and those that take others back.
	typingFarewell = time.Second
)

// Typing is how a chat is told that an answer is being written.
type Typing struct {
	To    chat.Address
	Every time.Duration // between two signals
	Words bool          // from the answer's first word on, not from the turn's beginning
	// Signal shows it, or no longer. Signals are a courtesy: their failures are nobody's business.
	Signal func(ctx context.Context, active bool) error
	// Pending tells whether something is on its way to the chat.
	Pending func(ctx context.Context) bool
}

// Typist tells chats that answers are being written.
type Typist struct {
	work    sync.WaitGroup
	leaving chan struct{} // closed by Wait
	leave   func()
	calls   context.Context // of all signals
	cancel  context.CancelFunc

	mu    sync.Mutex
	shown map[*Shown]bool
}

// NewTypist returns a typist.
func NewTypist() *Typist {
	t := &Typist{shown: map[*Shown]bool{}, leaving: make(chan struct{})}
	t.leave = sync.OnceFunc(func() { close(t.leaving) })
	t.calls, t.cancel = context.WithCancel(context.Background())
	return t
}

// Wait returns when nothing is shown any more, once all turns are over. It waits neither for what is on its way, nor for
// long for a plugin that does not answer.
func (t *Typist) Wait() {
	t.leave()
	farewell := time.AfterFunc(typingFarewell, t.cancel)
	defer farewell.Stop()
	t.work.Wait()
}

// Once sends one signal.
func (t *Typist) Once(signal func(ctx context.Context) error) {
	t.work.Go(func() { bounded(t.calls, signal) })
}

// Delivered says that something has arrived in a chat.
func (t *Typist) Delivered(to chat.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.shown {
		if s.typing.To == to {
			poke(s.delivered)
		}
	}
}

// Shown is a chat that is told that an answer is being written: until the turn is over and the answer delivered, and then
// never again.
type Shown struct {
	typing    Typing
	heard     chan struct{} // a sign of life
	words     chan struct{} // and it was a word
	ended     chan struct{}
	end       func()
	delivered chan struct{}
	leaving   <-chan struct{}
}

// Show begins to tell a chat.
func (t *Typist) Show(typing Typing) *Shown {
	s := &Shown{
		typing: typing, leaving: t.leaving, heard: make(chan struct{}, 1), words: make(chan struct{}, 1), ended: make(chan struct{}), delivered: make(chan struct{}, 1),
	}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	t.mu.Lock()
	t.shown[s] = true
	t.mu.Unlock()
	t.work.Go(func() {
		s.run(t.calls)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.shown, s)
	})
	return s
}

// Heard is a sign of life of the turn; words says that it was a part of the answer.
func (s *Shown) Heard(words bool) {
	poke(s.heard)
	if words {
		poke(s.words)
	}
}

// End says that the turn is over.
func (s *Shown) End() { s.end() }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run signals at once and then at each interval.
func (s *Shown) run(ctx context.Context) {
	if s.typing.Words {
		select {
		case <-s.words:
		case <-s.ended:
			return
		}
	}
	tick := time.NewTicker(s.typing.Every)
	defer tick.Stop()
	s.signal(ctx, true)
	for alive := time.Now(); ; {
		select {
		case <-s.ended:
			s.seal(ctx, tick.C)
			return
		case <-s.heard:
			if time.Since(alive) > typingPatience {
				s.signal(ctx, true)
			}
			alive = time.Now()
		case <-tick.C:
			if time.Since(alive) <= typingPatience {
				s.signal(ctx, true)
			}
		}
	}
}

// seal goes on until the answer is delivered, and takes the signal back.
func (s *Shown) seal(ctx context.Context, tick <-chan time.Time) {
	last := time.NewTimer(typingSeal)
	defer last.Stop()
	for s.typing.Pending(ctx) {
		select {
		case <-s.delivered:
			continue
		case <-tick:
			s.signal(ctx, true)
			continue
		case <-last.C:
		case <-s.leaving:
		}
		break
	}
	s.signal(ctx, false)
}

func (s *Shown) signal(ctx context.Context, active bool) {
	bounded(ctx, func(ctx context.Context) error { return s.typing.Signal(ctx, active) })
}

func bounded(ctx context.Context, signal func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, typingCall)
	defer cancel()
	_ = signal(ctx)
}
