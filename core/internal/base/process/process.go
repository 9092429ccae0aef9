// Package process starts and adopts processes of the operating system, protects them from being read, and recognises reused
// pids.
package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// endTime limits how long a killed process may take to end.
const endTime = 5 * time.Second

// ErrGone is returned for a process that has ended, including one that was not waited for.
var ErrGone = errors.New("the process is gone")

// Alive reports whether the process with this pid is, or may be, the one that started at this time, as returned by
// [StartTime]. A process that cannot be inspected, for example if no file descriptor is free, counts as alive. On systems
// without start times (zero) only the pid is compared.
func Alive(pid int, started uint64) bool {
	now, err := StartTime(pid)
	if err != nil {
		return !errors.Is(err, ErrGone)
	}
	return now == started
}

// KillGroup kills the process group that the process leads. It returns nil if the group is gone.
func KillGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// End kills the process group led by the process that started at this time, and returns once the process is gone, which
// frees its ports and files. A process that cannot be inspected is not killed, because its pid may have been reused.
func End(ctx context.Context, pid int, started uint64) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond) // only a parent is notified
	defer tick.Stop()
	for Alive(pid, started) {
		if now, err := StartTime(pid); err == nil && now == started {
			if err := KillGroup(pid); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d is still there: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
