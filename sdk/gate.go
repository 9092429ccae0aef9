package sdk

import (
	"context"
	"sync"
)

// gate counts calls in progress and admits no more once it is closed. The zero gate is open.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // made by close, closed when the last one has left
}

// enter reports whether the gate is open; if so the caller must call leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// close admits nothing more.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	g.empty = make(chan struct{})
	if g.inside == 0 {
		close(g.empty)
	}
}

// wait waits on a closed gate until all have left. It returns false if ctx ended before that.
func (g *gate) wait(ctx context.Context) bool {
	select {
	case <-g.empty:
		return true
	case <-ctx.Done():
		return false
	}
}
