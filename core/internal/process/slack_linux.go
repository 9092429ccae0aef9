package process

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// strictSlack is the kernel's default for how much later than asked it may wake a thread.
	strictSlack = 50 * time.Microsecond
	// relaxedSlack is that of programs that Exec executes, and of their processes. While anything runs, the monitor thread of
	// the Go runtime sleeps for 20 µs again and again. With the kernel's default that costs a tenth of the CPU time of a message.
	relaxedSlack = 500 * time.Microsecond
)

// StrictTimers reports whether the threads of this process have the kernel's default timer slack, which only [Exec] can raise for
// all of them: threads that exist keep theirs.
func StrictTimers() bool {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return err == nil && slack == int(strictSlack)
}

// relaxTimers raises the timer slack of the calling thread, to which it locks the goroutine, unless somebody chose one. What the
// thread executes and starts inherits it.
func relaxTimers() {
	runtime.LockOSThread()
	if StrictTimers() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(relaxedSlack), 0, 0, 0) // It is only slower without.
	}
}
