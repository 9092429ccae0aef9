// Package process starts and adopts processes of the operating system, keeps them from being read, and tells one from
// another that has its pid later.
package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// endTime is how long a process may take to be gone once it was killed.
const endTime = 5 * time.Second

// Alive reports whether the process with this pid is still the one that started at this time, as [StartTime] told it. Where
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

// End kills the process group that a process leads and returns once the process is gone, and with it the ports and files
// that it held.
func End(ctx context.Context, pid int, started uint64) error {
	if err := KillGroup(pid); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond) // who is no parent gets no event
	defer tick.Stop()
	for Alive(pid, started) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d is still there: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
