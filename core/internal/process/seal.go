package process

import (
	"errors"
	"os"
)

// ErrNotSealed is returned for a program that cannot be executed from a sealed copy: a script, or any program on a system
// that does not allow it.
var ErrNotSealed = errors.New("the program cannot run from a sealed copy")

// Program is a sealed copy of a program.
type Program struct {
	Path   string // what to execute in place of the program, as long as the copy is open
	sealed *os.File
}

// Close forgets the copy. Processes that execute it keep it.
func (p *Program) Close() error { return p.sealed.Close() }
