//go:build crashpoints

package core

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// points are the named places at which the crash test ends the host: CLAWHOST_CRASH_POINT names one and how often it is
// passed before that, as "3:result".
type points struct {
	name string

	mu   sync.Mutex
	left int
}

func newPoints() *points {
	p := &points{}
	_, _ = fmt.Sscanf(os.Getenv("CLAWHOST_CRASH_POINT"), "%d:%s", &p.left, &p.name)
	return p
}

// pass kills the process, as kill -9 would, when it is the point's turn.
func (p *points) pass(name string) {
	if name != p.name {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left--; p.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal may take a moment
	}
}
