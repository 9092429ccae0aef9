package cli

import (
	"sync"

	"github.com/clawhost/clawhost/core/internal/process"
)

// family is the claude processes of one host process, to which tools are assigned.
type family struct {
	children *process.Children // starts them; nil: nothing is adopted
	life     string

	mu      sync.Mutex
	running map[string]int // number of processes by session
}

func newFamily(children *process.Children, life string) *family {
	return &family{children: children, life: life, running: map[string]int{}}
}

// join records that a process of a session is about to start.
func (f *family) join(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[session]++
}

// runs reports whether a process of a session runs.
func (f *family) runs(session string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running[session] > 0
}

// leave records that a process of a session has ended, or did not start.
func (f *family) leave(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[session]--; f.running[session] == 0 {
		delete(f.running, session)
	}
}
