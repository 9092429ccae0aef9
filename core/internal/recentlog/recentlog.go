// Package recentlog keeps the newest lines of the log in memory, for those who look into a running host.
package recentlog

import (
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

const (
	maxBytes  = 256 << 10 // of the kept lines
	maxErrors = 10
)

// Log passes the log on to a writer and keeps its newest lines. It implements [hclog.LevelWriter].
type Log struct {
	out io.Writer

	mu     sync.Mutex
	lines  []string
	bytes  int
	last   int64    // the number of the newest line, counted from 1
	errors []string // the newest of level error
	more   chan struct{}
}

// New returns a log that writes to out.
func New(out io.Writer) *Log { return &Log{out: out, more: make(chan struct{})} }

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
	l.lines, l.bytes, l.last = append(l.lines, entry), l.bytes+len(entry), l.last+1
	for l.bytes > maxBytes && len(l.lines) > 1 {
		l.bytes -= len(l.lines[0])
		l.lines = l.lines[1:]
	}
	if level == hclog.Error {
		l.errors = append(l.errors, entry)
		l.errors = l.errors[max(0, len(l.errors)-maxErrors):]
	}
	close(l.more)
	l.more = make(chan struct{})
}

// Errors returns the newest entries of level error, at most ten, oldest first.
func (l *Log) Errors() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.errors...)
}

// After returns the kept entries whose numbers are higher than the given one, oldest first, and the number of the newest
// entry. More is closed when another one is there. Numbers begin with 1.
func (l *Log) After(number int64) (entries []string, last int64, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := min(max(l.last-number, 0), int64(len(l.lines)))
	return append([]string(nil), l.lines[int64(len(l.lines))-count:]...), l.last, l.more
}
