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
	Path   string // what to execute in place of the program, as long as the copy is open
	sealed *os.File
}

// Close forgets the copy. Processes that execute it keep it.
func (p *Program) Close() error { return p.sealed.Close() }

// Exec runs the program at path in place of this one. If this process cannot be read by others of its user, the program
// cannot either, from its first instruction on, where the system has sealed copies; without them it is executed as it is.
func Exec(path string, args, env []string) error {
	if os.Geteuid() != 0 { // of root's a copy could be read as well
		if sealed, err := Seal(path, nil); err == nil {
			defer sealed.Close()
			return syscall.Exec(sealed.Path, args, env)
		}
	}
	return syscall.Exec(path, args, env)
}
