//go:build !linux

package cli

import (
	"golang.org/x/sys/unix"
)

// There is no /proc here, so the tools of a turn are not found: those that run in sessions of their own outlive a claude
// that does not take an interrupt, and what a previous process of the host left is not ended, as start times and boots are unknown.

func descendants(int, *family, ...string) ([]ID, error) { return nil, nil }

func carries(int, []string) (bool, error) { return false, nil }

func (p ID) kill() {
	if p.PID > 0 {
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
}
