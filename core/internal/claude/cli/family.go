package cli

import (
	"sync"

	"github.com/clawhost/clawhost/core/internal/process"
)

// family are the claude processes of one life of the host, by which its tools are told apart.
type family struct {
	children *process.Children // starts them; nil: nothing is adopted
	life     string

	mu      sync.Mutex
	running map[string]int // processes, by the session that they are of
}

func newFamily(children *process.Children, life string) *family {
	return &family{children: children, life: life, running: map[string]int{}}
}

// join notes that a process of a session is about to start.
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

// leave notes that a process of a session has ended, or did not start.
func (f *family) leave(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[session]--; f.running[session] == 0 {
		delete(f.running, session)
	}
}
