// Package recentlog keeps the newest lines of the log in memory, for those who look into a running host.
package recentlog

import (
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

const (
	maxBytes  = 256 << 10 // of the kept entries
	maxEntry  = 32 << 10  // bytes; a longer one is cut
	maxErrors = 10
)

// Log passes the log on to a writer and keeps its newest entries. It implements [hclog.LevelWriter].
type Log struct {
	out io.Writer

	mu      sync.Mutex
	entries []string
	bytes   int
	last    int64         // the number of the newest entry, counted from 1
	errors  []string      // the newest of level error
	more    chan struct{} // closed at the next entry; nil: no one waits for it
}

// New returns a log that writes to out.
func New(out io.Writer) *Log { return &Log{out: out} }

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) { return l.LevelWrite(hclog.NoLevel, p) }

// LevelWrite implements [hclog.LevelWriter]. An entry may have several lines.
func (l *Log) LevelWrite(level hclog.Level, p []byte) (int, error) {
	l.keep(level, strings.TrimRight(string(p), "\n"))
	return l.out.Write(p)
}

func (l *Log) keep(level hclog.Level, entry string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(entry) > maxEntry {
		entry = strings.ToValidUTF8(entry[:maxEntry], "") + "…"
	}
	l.entries, l.bytes, l.last = append(l.entries, entry), l.bytes+len(entry), l.last+1
	for l.bytes > maxBytes {
		l.bytes -= len(l.entries[0])
		l.entries[0] = "" // the slice keeps its beginning until it grows
		l.entries = l.entries[1:]
	}
	if level == hclog.Error {
		l.errors = append(l.errors, entry)
		l.errors = l.errors[max(0, len(l.errors)-maxErrors):]
	}
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// Errors returns the newest entries of level error, at most ten, oldest first.
func (l *Log) Errors() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.errors)
}

// After returns the kept entries whose numbers are higher than the given one, oldest first, and the number of the newest
// entry. More is closed when another one is there. Numbers begin with 1.
func (l *Log) After(number int64) (entries []string, last int64, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	count := min(max(l.last-number, 0), int64(len(l.entries)))
	return slices.Clone(l.entries[int64(len(l.entries))-count:]), l.last, l.more
}
