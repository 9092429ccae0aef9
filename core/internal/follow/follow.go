// Package follow passes the progress of turns on to programs that wait for their answers.
package follow

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// Turns are the turns that programs follow. The zero Turns are followed by none. They are safe for concurrent use.
type Turns struct {
	following atomic.Int64 // spares other turns the lock

	mu        sync.Mutex
	followers map[string][]*Follower // by the messages' ids for Claude
}

// Follower follows the turn of one message, whenever it runs.
type Follower struct {
	turns   *Turns
	message string
	news    chan struct{} // buffers one

	mu     sync.Mutex
	latest agent.Progress
}

// Follow follows the turn of a message, by its id for Claude, until [Follower.Close].
func (t *Turns) Follow(message string) *Follower {
	f := &Follower{turns: t, message: message, news: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.followers == nil {
		t.followers = map[string][]*Follower{}
	}
	t.followers[message] = append(t.followers[message], f)
	t.following.Add(1)
	return f
}

// Close ends the following. It is called once.
func (f *Follower) Close() {
	t := f.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.following.Add(-1)
	if t.followers[f.message] = slices.DeleteFunc(t.followers[f.message], func(other *Follower) bool { return other == f }); len(t.followers[f.message]) == 0 {
		delete(t.followers, f.message)
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

// Progress passes the progress of a message's turn on. It does not block.
func (t *Turns) Progress(message string, p agent.Progress) {
	if t.following.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.followers[message] {
		f.mu.Lock()
		f.latest = p
		f.mu.Unlock()
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
}
