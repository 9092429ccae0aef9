//go:build !linux

package cli

import (
	"golang.org/x/sys/unix"
)

// Without /proc the tools of a turn are not found: those in sessions of their own outlive a claude that ignores the
// interrupt, and processes that a previous host left are not ended, because start times and boots are unknown.

func descendants(int, *family, ...string) ([]ID, error) { return nil, nil }

func carries(int, []string) (bool, error) { return false, nil }

func (p ID) kill() {
	if p.PID > 0 {
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
}
