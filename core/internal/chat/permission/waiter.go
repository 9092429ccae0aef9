package permission

import (
	"context"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

const (
	// maxOfSession bounds the open questions of one session.
	maxOfSession = 16
	// maxOfSender bounds the open questions of one person who may not decide.
	maxOfSender = 4
)

// waiter is a use of a tool that waits for people.
type waiter struct {
	run     int64
	session string
	sender  string        // the person of the turn, if they may not decide
	over    chan struct{} // closed when it waits no longer

	// The others belong to waiters.
	digests []string // of what it asks: the whole, then its later parts
	counts  bool     // people are asked
}

// waiters are those of this process. They know no answers: each watches the store, and reads its question.
type waiters struct {
	mu   sync.Mutex
	list []*waiter
}

// add adds a waiter for what its first digest identifies, once no other one of its session waits for the same: parallel
// tools may ask the same, and an answer is valid for one of them.
func (ws *waiters) add(ctx context.Context, w *waiter) error {
	for {
		before := ws.tryAdd(w)
		if before == nil {
			return nil
		}
		select {
		case <-before.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (ws *waiters) tryAdd(w *waiter) (before *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, other := range ws.list {
		if other.session == w.session && other.digests[0] == w.digests[0] {
			return other
		}
	}
	ws.list = append(ws.list, w)
	return nil
}

func (ws *waiters) remove(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.list = slices.DeleteFunc(ws.list, func(other *waiter) bool { return other == w })
	close(w.over)
}

// asks records one more part that a waiter asks. It comes before the question is stored, so that nothing that happens to
// that is missed.
func (ws *waiters) asks(w *waiter, digest string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.digests = append(w.digests, digest)
}

// awaited reports whether a later run than this one of the session asks a question.
func (ws *waiters) awaited(session, digest string, after int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.ContainsFunc(ws.list, func(w *waiter) bool {
		return w.session == session && w.run > after && slices.Contains(w.digests, digest)
	})
}

// bound is a limit of open questions.
type bound struct {
	key  string
	most int
	of   wording.Crowd
}

// count counts a waiter among those who ask people, unless that would be too many.
func (ws *waiters) count(w *waiter) (tooMany *bound) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	session, sender := 0, 0
	for _, other := range ws.list {
		if other.counts && other.session == w.session {
			session++
		}
		if other.counts && other.sender != "" && other.sender == w.sender {
			sender++
		}
	}
	switch {
	case session >= maxOfSession:
		return &bound{"session " + w.session, maxOfSession, wording.OfConversation}
	case sender >= maxOfSender:
		return &bound{"sender " + w.sender, maxOfSender, wording.OfSender}
	}
	w.counts = true
	return nil
}

func (ws *waiters) discount(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.counts = false
}
