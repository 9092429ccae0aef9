package view

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

// signals tell chats that an answer is being written.
type signals interface {
	// signal shows it, or no longer. Nobody learns of a failure: signals are a courtesy.
	signal(ctx context.Context, to chat.Address, active bool)
	// pending reports whether something is on its way to the chat.
	pending(ctx context.Context, to chat.Address) bool
}

// typist tells chats that answers are being written.
type typist struct {
	signals signals
	work    sync.WaitGroup
	leave   sync.Once
	leaving chan struct{}   // closed by wait
	calls   context.Context // of all signals
	cancel  context.CancelFunc

	mu    sync.Mutex
	shown map[*typing]bool
}

func newTypist(s signals) *typist {
	t := &typist{signals: s, shown: map[*typing]bool{}, leaving: make(chan struct{})}
	t.calls, t.cancel = context.WithCancel(context.Background()) // They take back what they have shown after the turns' contexts have ended.
	return t
}

// wait returns when nothing is shown any more, once all turns have ended. It waits neither for what is on its way, nor for long for
// a plugin that does not answer.
func (t *typist) wait() {
	t.leave.Do(func() { close(t.leaving) })
	farewell := time.AfterFunc(typingFarewell, t.cancel)
	defer farewell.Stop()
	t.work.Wait()
}

// once sends one signal.
func (t *typist) once(to chat.Address) {
	t.work.Go(func() { t.signal(to, true) })
}

// delivered says that something has arrived in a chat.
func (t *typist) delivered(to chat.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.shown {
		if s.to == to {
			poke(s.arrived)
		}
	}
}

func (t *typist) signal(to chat.Address, active bool) {
	ctx, cancel := context.WithTimeout(t.calls, typingCall)
	defer cancel()
	t.signals.signal(ctx, to, active)
}

// typing is a chat that is told that an answer is being written: until the turn has ended and the answer is delivered, and then
// never again.
type typing struct {
	typist  *typist
	to      chat.Address
	every   time.Duration // between two signals
	late    bool          // from the answer's first word on, not from the turn's beginning
	alive   chan struct{} // a sign of life
	words   chan struct{} // and it was a word
	once    sync.Once
	ended   chan struct{}
	arrived chan struct{} // something has
}

// show begins to tell a chat, at the answer's first word where it is late.
func (t *typist) show(to chat.Address, every time.Duration, late bool) *typing {
	s := &typing{
		typist: t, to: to, every: every, late: late,
		alive: make(chan struct{}, 1), words: make(chan struct{}, 1), ended: make(chan struct{}), arrived: make(chan struct{}, 1),
	}
	t.mu.Lock()
	t.shown[s] = true
	t.mu.Unlock()
	t.work.Go(func() {
		s.run()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.shown, s)
	})
	return s
}

// heard is a sign of life of the turn; words says that it was a part of the answer.
func (s *typing) heard(words bool) {
	poke(s.alive)
	if words {
		poke(s.words)
	}
}

// end says that the turn has ended.
func (s *typing) end() { s.once.Do(func() { close(s.ended) }) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run signals at once and then at each interval.
func (s *typing) run() {
	if s.late {
		select {
		case <-s.words:
		case <-s.ended:
			return
		}
	}
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	s.typist.signal(s.to, true)
	for heard := time.Now(); ; {
		select {
		case <-s.ended:
			s.seal(tick.C)
			return
		case <-s.alive:
			if time.Since(heard) > typingPatience {
				s.typist.signal(s.to, true)
			}
			heard = time.Now()
		case <-tick.C:
			if time.Since(heard) <= typingPatience {
				s.typist.signal(s.to, true)
			}
		}
	}
}

// seal goes on until the answer is delivered, and takes the signal back.
func (s *typing) seal(tick <-chan time.Time) {
	last := time.NewTimer(typingSeal)
	defer last.Stop()
	for s.typist.signals.pending(s.typist.calls, s.to) {
		select {
		case <-s.arrived:
			continue
		case <-tick:
			s.typist.signal(s.to, true)
			continue
		case <-last.C:
		case <-s.typist.leaving:
		}
		break
	}
	s.typist.signal(s.to, false)
}
