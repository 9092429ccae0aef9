// Package process tells one operating system process from another that has its pid later.
package process

import (
	"errors"
	"syscall"
)

// Alive tells whether the process with this pid is still the one that started at this time, as [StartTime] told it. Where
// the system does not tell start times (zero), the pid alone decides.
func Alive(pid int, started uint64) bool {
	now, err := StartTime(pid)
	if err != nil {
		return false
	}
	return now == started
}

// KillGroup kills the process group that the process leads. A group that is gone is no error.
func KillGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
