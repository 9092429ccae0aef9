package view

import (
	"context"
	"sync"
	"time"

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

// signals show in chats that an answer is being written.
type signals interface {
	// signal starts or ends the typing indicator. Failures are ignored.
	signal(ctx context.Context, to chat.Address, active bool)
	// pending reports whether items wait for the chat.
	pending(ctx context.Context, to chat.Address) bool
}

// typist shows in chats that answers are being written.
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
	t.calls, t.cancel = context.WithCancel(context.Background()) // Signals are ended after the turns' contexts.
	return t
}

// wait returns when nothing is shown any more, after the end of all turns. It waits neither for undelivered items nor,
// for long, for a plugin that does not answer.
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

// delivered notes that something has arrived in a chat.
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

// typing shows the indicator in one chat until the turn has ended and the answer is delivered, and not again
// afterwards.
type typing struct {
	typist  *typist
	to      chat.Address
	every   time.Duration // between two signals
	late    bool          // from the answer's first word, not from the turn's beginning
	alive   chan struct{} // the turn made progress
	words   chan struct{} // the progress was a part of the answer
	once    sync.Once
	ended   chan struct{}
	arrived chan struct{} // something arrived in the chat
}

// show starts the indicator in a chat, if late with the answer's first word.
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

// heard notes progress of the turn; words reports whether it was a part of the answer.
func (s *typing) heard(words bool) {
	poke(s.alive)
	if words {
		poke(s.words)
	}
}

// end notes that the turn has ended.
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

// seal continues until the answer is delivered, and ends the signal.
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
