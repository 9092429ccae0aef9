// Package budget bounds what one source may write to the log.
package budget

import (
	"sync"
	"time"
)

const (
	// A source may log so many lines and bytes in a second, and so many seconds' worth at once.
	linesASecond = 20
	bytesASecond = 32 << 10
	burst        = 10
)

// Budget is what a source may log at the moment. The zero Budget is unused. It is safe for concurrent use.
type Budget struct {
	mu           sync.Mutex
	lines, bytes float64 // used
	at           time.Time
	over         bool
	suppressed   int // and not returned yet
}

// Take reports whether a line of so many bytes may be logged, and returns how many might not that the log is to be told
// of: the first one at once, the others with the next line that may. A source that has used up its budget waits until it
// has a second's worth.
func (b *Budget) Take(bytes int) (ok bool, suppressed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	passed := now.Sub(b.at).Seconds()
	b.at = now
	b.lines = max(b.lines-passed*linesASecond, 0)
	b.bytes = max(b.bytes-passed*bytesASecond, 0)
	room := float64(burst)
	if b.over {
		room--
	}
	if b.lines+1 > room*linesASecond || b.bytes+float64(bytes) > room*bytesASecond {
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

// End returns how many lines were suppressed since Take said so last.
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
