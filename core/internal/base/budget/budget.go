// Package budget limits what one source may write to the log.
package budget

import (
	"sync"
	"time"
)

const (
	// The rate of lines and bytes that a source may log per second, and the burst in seconds.
	linesASecond = 20
	bytesASecond = 32 << 10
	burst        = 10
)

// Budget is what a source may currently log. The zero Budget is unused. It is safe for concurrent use.
type Budget struct {
	mu           sync.Mutex
	lines, bytes float64 // used
	at           time.Time
	over         bool
	suppressed   int // not yet returned
}

// Take reports whether a line of this size may be logged, and returns the number of suppressed lines to mention in the log:
// the first one at once, the others with the next permitted line. A source that has used up its budget must wait until it
// has a second's worth.
func (b *Budget) Take(bytes int) (ok bool, suppressed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	passed := now.Sub(b.at).Seconds()
	b.at = now
	b.lines = max(b.lines-passed*linesASecond, 0)
	b.bytes = max(b.bytes-passed*bytesASecond, 0)
	space := float64(burst)
	if b.over {
		space--
	}
	if b.lines+1 > space*linesASecond || b.bytes+float64(bytes) > space*bytesASecond {
		if !b.over {
			b.over = true
			return false, 1
		}
		b.suppressed++
		return false, 0
	}
	b.over = false
	b.lines++
	b.bytes += float64(bytes)
	return true, b.reset()
}

// End returns how many lines were suppressed since Take last returned a number.
func (b *Budget) End() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reset()
}

func (b *Budget) reset() int {
	suppressed := b.suppressed
	b.suppressed = 0
	return suppressed
}
