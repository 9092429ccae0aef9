// Package follow passes the progress of turns on to programs that wait for their answers.
package follow

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// Turns are the turns that programs follow. The zero Turns are followed by none. They are safe for concurrent use.
type Turns struct {
	following atomic.Int64 // spares other turns the lock

	mu        sync.Mutex
	followers map[string][]*Follower // by session
}

// Follower follows the turn of one message, whenever it runs.
type Follower struct {
	turns   *Turns
	session string
	message string        // its id for Claude
	news    chan struct{} // buffers one

	mu     sync.Mutex
	latest agent.Progress
	hold   Hold
}

// Hold is why a session's turns cannot begin or end yet.
type Hold struct {
	Why  string
	Wait time.Duration // until it is tried again
}

// Follow follows the turn of a session's message, by its id for Claude, until [Follower.Close].
func (t *Turns) Follow(session, message string) *Follower {
	f := &Follower{turns: t, session: session, message: message, news: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.followers == nil {
		t.followers = map[string][]*Follower{}
	}
	t.followers[session] = append(t.followers[session], f)
	t.following.Add(1)
	return f
}

// Close ends the following. It is called once.
func (f *Follower) Close() {
	t := f.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.following.Add(-1)
	if t.followers[f.session] = slices.DeleteFunc(t.followers[f.session], func(other *Follower) bool { return other == f }); len(t.followers[f.session]) == 0 {
		delete(t.followers, f.session)
	}
}

// News receives when there is new progress. One value may stand for many.
func (f *Follower) News() <-chan struct{} { return f.news }

// Progress returns the latest progress.
func (f *Follower) Progress() agent.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

// Held returns why the turn, or one before it, cannot begin or end yet; zero: nothing prevents it.
func (f *Follower) Held() Hold {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hold
}

// Progress passes the progress of a message's turn on. It does not block.
func (t *Turns) Progress(session, message string, p agent.Progress) {
	t.tell(session, func(f *Follower) bool {
		freed := f.hold != Hold{}
		if f.hold = (Hold{}); f.message != message {
			return freed
		}
		f.latest = p
		return true
	})
}

// Held passes on why a session's turns cannot begin or end yet. That holds until the next progress of one of them. It does not
// block.
func (t *Turns) Held(session, why string, wait time.Duration) {
	t.tell(session, func(f *Follower) bool {
		f.hold = Hold{Why: why, Wait: wait}
		return true
	})
}

// tell calls note for each follower of a session. If note returns true, the follower's News receives a value.
func (t *Turns) tell(session string, note func(*Follower) (news bool)) {
	if t.following.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.followers[session] {
		f.mu.Lock()
		news := note(f)
		f.mu.Unlock()
		if !news {
			continue
		}
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
}
