package gateway

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// followers are the programs that follow turns. The zero followers are none. They are safe for concurrent use.
type followers struct {
	following atomic.Int64 // spares other turns the lock

	mu  sync.Mutex
	all map[string][]*follower // by session
}

// follower follows the turn of one message, whenever it runs.
type follower struct {
	among   *followers
	session string
	message string        // its id for Claude
	news    chan struct{} // receives when there is new progress; one value may stand for many

	mu     sync.Mutex
	latest agent.Progress
	hold   hold
}

// hold is why a session's turns cannot begin or end yet; zero: nothing prevents it.
type hold struct {
	why  string
	wait time.Duration // until it is tried again
}

// follow follows the turn of a session's message, by its id for Claude, until the follower is closed.
func (fs *followers) follow(session, message string) *follower {
	f := &follower{among: fs, session: session, message: message, news: make(chan struct{}, 1)}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.all == nil {
		fs.all = map[string][]*follower{}
	}
	fs.all[session] = append(fs.all[session], f)
	fs.following.Add(1)
	return f
}

// close ends the following. It is called once.
func (f *follower) close() {
	fs := f.among
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.following.Add(-1)
	if fs.all[f.session] = slices.DeleteFunc(fs.all[f.session], func(other *follower) bool { return other == f }); len(fs.all[f.session]) == 0 {
		delete(fs.all, f.session)
	}
}

// hears receives when there is new progress; never without a follower.
func (f *follower) hears() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.news
}

// progress returns the latest progress.
func (f *follower) progress() agent.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

// held returns why the turn, or one before it, cannot begin or end yet.
func (f *follower) held() hold {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hold
}

// Progress passes the progress of a message's turn on, by the message's id for Claude. It does not block.
func (fs *followers) Progress(session, message string, p agent.Progress) {
	fs.tell(session, func(f *follower) bool {
		freed := f.hold != hold{}
		if f.hold = (hold{}); f.message != message {
			return freed
		}
		f.latest = p
		return true
	})
}

// Held passes on why a session's turns cannot begin or end yet. That holds until the next progress of one of them. It does not
// block.
func (fs *followers) Held(session, why string, wait time.Duration) {
	fs.tell(session, func(f *follower) bool {
		f.hold = hold{why, wait}
		return true
	})
}

// tell calls note for each follower of a session. If note returns true, the follower's news receive a value.
func (fs *followers) tell(session string, note func(*follower) (news bool)) {
	if fs.following.Load() == 0 {
		return
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.all[session] {
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
