package process

import (
	"errors"
	"os"
	"syscall"
)

// ErrNotSealed is returned for a program that cannot be executed from a sealed copy: a script, or any program on a system
// that does not allow it.
var ErrNotSealed = errors.New("the program cannot run from a sealed copy")

// ErrNotExecutable is returned for a program that this process's user may not execute.
var ErrNotExecutable = errors.New("this user may not execute it: it lacks the permission, or its file system is mounted noexec")

// Program is a sealed copy of a program.
type Program struct {
	Path   string // what to execute instead of the program, while the copy is open
	sealed *os.File
}

// Close closes the copy. Processes that execute it keep it.
func (p *Program) Close() error { return p.sealed.Close() }

// Exec replaces this process by the program at path. If other processes of the user cannot read this one, they cannot read
// the program either, from its first instruction on, if the system supports sealed copies; otherwise the program is
// executed directly. Its timers may be late by up to half a millisecond.
func Exec(path string, args, env []string) error {
	defer relaxTimers()()
	if os.Geteuid() != 0 { // root could read a copy as well
		if sealed, err := Seal(path, nil); err == nil {
			defer sealed.Close()
			return syscall.Exec(sealed.Path, args, env)
		}
	}
	return syscall.Exec(path, args, env)
}
