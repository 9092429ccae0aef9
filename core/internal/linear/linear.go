// Package linear tests that the time of a function grows no faster than its input.
package linear

import (
	"runtime"
	"testing"
	"time"
)

// Check fails the test if the time of read grows faster than its input; see [Holds].
func Check(t testing.TB, what string, size int, input func(size int) string, read func(string)) {
	t.Helper()
	if whole, parts := compare(size, input, read); whole > most*parts {
		t.Errorf("%s of %d bytes takes %v, and %d of as many bytes together %v", what, size, whole, times, parts)
	}
}

// Holds reports whether an input of a size takes about as long as eight of an eighth. What is quadratic takes eight times as
// long.
func Holds(size int, input func(size int) string, read func(string)) bool {
	whole, parts := compare(size, input, read)
	return whole <= most*parts
}

const (
	times = 8
	most  = 4
	// tries is how often it is measured: one good try is enough, as a garbage collection, or another process that empties the
	// processor's cache, may fall into the others.
	tries = 6
)

func compare(size int, input func(int) string, read func(string)) (whole, parts time.Duration) {
	long, short := input(size), input(size/times)
	for range tries {
		parts = Worked(func() {
			for range times {
				read(short)
			}
		})
		if whole = Worked(func() { read(long) }); whole <= most*parts {
			break
		}
	}
	return whole, parts
}

// Worked returns the time that a processor has spent in f, whatever else the machine does.
func Worked(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := spent()
	f()
	return spent() - before
}
