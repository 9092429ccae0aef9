// Package journal records what processes and loggers write, for tests that read it concurrently.
package journal

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// Journal is a growing text. The zero Journal is empty.
type Journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and reset when text grows; nil: no waiters
}

// Write adds to the text.
func (j *Journal) Write(part []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
	return j.text.Write(part)
}

// String returns the whole text.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Mark returns the current end of the text, in bytes.
func (j *Journal) Mark() int { return len(j.String()) }

// patience limits waits without a deadline.
const patience = 30 * time.Second

// Await waits until the text after a mark matches a pattern. It gives up when ended is closed, as the writer may do; a nil
// channel is ignored.
func (j *Journal) Await(ctx context.Context, ended <-chan struct{}, mark int, pattern *regexp.Regexp) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for over := false; ; {
		written, changed := j.since(mark)
		if pattern.MatchString(written) {
			return nil
		}
		if over {
			return fmt.Errorf("the writer ended, and wrote nothing that matches %q", pattern)
		}
		select {
		case <-changed:
		case <-ended:
			over = true // check the final text, too
		case <-ctx.Done():
			return fmt.Errorf("nothing that matches %q is in what was written, %.2000q: %w", pattern, written, ctx.Err())
		}
	}
}

// since returns the text after a mark, and a channel that is closed when it grows.
func (j *Journal) since(mark int) (string, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.text.String()[mark:], j.changed
}
