package process

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// strictSlack is the kernel's default for how much later than asked it may wake a thread.
	strictSlack = 50 * time.Microsecond
	// relaxedSlack is that of the processes that this one starts. While anything runs, the monitor thread of the Go runtime sleeps
	// for 20 µs again and again. With the kernel's default that costs up to a tenth of the CPU time of a message.
	relaxedSlack = 500 * time.Microsecond
)

// relaxTimers raises the timer slack of the calling thread, to which it locks the goroutine, unless one was chosen. What the
// thread executes and starts inherits it. The function that it returns undoes both.
func relaxTimers() (undo func()) {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || slack != int(strictSlack) {
		return runtime.UnlockOSThread
	}
	setSlack(relaxedSlack)
	return func() {
		setSlack(strictSlack)
		runtime.UnlockOSThread()
	}
}

func setSlack(slack time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) // It is only slower without.
}
