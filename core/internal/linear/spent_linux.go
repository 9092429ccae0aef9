package linear

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent returns the processor time of the current thread.
func spent() time.Duration {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at)
	return time.Duration(at.Nano())
}
