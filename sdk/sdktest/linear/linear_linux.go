// Package linear measures in tests how the processor time of a function depends on its input. It needs Linux, which has a clock
// for each thread.
package linear

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// parts is how many inputs of a fraction of the size are compared with one input of the whole size. For quadratic work the
	// whole takes this many times as long as all parts together.
	parts = 8
	// most is how many times as long the whole may take.
	most = 4
	// tries is the number of measurements. One good one is enough, because a garbage collection or another process may have
	// disturbed the others.
	tries = 6
)

// Check fails the test if the time of read grows faster than its input; see [Holds].
func Check(t testing.TB, what string, size int, input func(size int) string, read func(string)) {
	t.Helper()
	if whole, together := compare(size, input, read); whole > most*together {
		t.Errorf("%s of %d bytes takes %v, and %d of an eighth of the size take %v together", what, size, whole, parts, together)
	}
}

// Holds reports whether reading an input of a size, in bytes, takes at most four times as long as reading eight inputs of an
// eighth of the size.
func Holds(size int, input func(size int) string, read func(string)) bool {
	whole, together := compare(size, input, read)
	return whole <= most*together
}

func compare(size int, input func(int) string, read func(string)) (whole, together time.Duration) {
	long, short := input(size), input(size/parts)
	for range tries {
		together = worked(func() {
			for range parts {
				read(short)
			}
		})
		if whole = worked(func() { read(long) }); whole <= most*together {
			break
		}
	}
	return whole, together
}

// Time returns the processor time that f takes: the least of several measurements, and at least a microsecond.
func Time(f func()) time.Duration {
	least := worked(f)
	for range tries - 1 {
		least = min(least, worked(f))
	}
	return max(least, time.Microsecond)
}

// worked returns the processor time that f takes, whatever else the machine does.
func worked(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := spent()
	f()
	return spent() - before
}

// spent returns the processor time of the current thread.
func spent() time.Duration {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at) // this clock always exists
	return time.Duration(at.Nano())
}
