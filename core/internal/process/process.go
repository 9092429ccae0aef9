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

// ErrGone is returned of a process that has ended, also of one that was not waited for.
var ErrGone = errors.New("the process is gone")

// Alive reports whether the process with this pid is still the one that started at this time, as [StartTime] told it, or may
// be: one that cannot be looked at, such as for want of descriptors, counts as alive. Where the system does not tell start
// times (zero), the pid alone decides.
func Alive(pid int, started uint64) bool {
	now, err := StartTime(pid)
	if err != nil {
		return !errors.Is(err, ErrGone)
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

// End kills the process group that a process leads, which started at this time, and returns once the process is gone, and
// with it the ports and files that it held. One that cannot be looked at is not killed, as its pid may be another one's.
func End(ctx context.Context, pid int, started uint64) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond) // who is no parent gets no event
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
