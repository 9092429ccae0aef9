package recentlog

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// What the host logs is written as ever, and its newest lines can be read, each once.
// Behaviour: logs.
func TestLog(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		l := New(&out)
		log := hclog.New(&hclog.LoggerOptions{Output: l, Level: hclog.Debug, JSONFormat: asJSON})
		log.Info("one")
		seen, last, more := l.After(0)
		if len(seen) != 1 || !strings.Contains(seen[0], "one") || last != 1 {
			t.Fatalf("%q, %d", seen, last)
		}
		for n := range 12 {
			log.Error(fmt.Sprint("bad ", n))
		}
		<-more
		log.Debug("two")
		seen, last, _ = l.After(last)
		if len(seen) != 13 || !strings.Contains(seen[12], "two") || last != 14 {
			t.Errorf("%q, %d", seen, last)
		}
		if seen, last, _ := l.After(99); len(seen) != 0 || last != 14 {
			t.Errorf("beyond the end: %q, %d", seen, last)
		}
		errs := l.Errors()
		if len(errs) != maxErrors || !strings.Contains(errs[0], "bad 2") || !strings.Contains(errs[9], "bad 11") {
			t.Errorf("errors: %q", errs)
		}
		if got := strings.Count(out.String(), "\n"); got != 14 {
			t.Errorf("%d lines were written", got)
		}
	}
}

// The memory of the entries is bounded, and a long one is cut.
func TestBound(t *testing.T) {
	t.Parallel()
	l := New(io.Discard)
	long := strings.Repeat("x", 2*maxBytes)
	fmt.Fprintln(l, long)
	if seen, _, _ := l.After(0); len(seen) != 1 || seen[0] != long[:maxEntry]+"…" {
		t.Errorf("%d entries", len(seen))
	}
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for range 500 {
				fmt.Fprintln(l, strings.Repeat("y", 1000))
			}
		})
	}
	writing.Wait()
	seen, last, _ := l.After(0)
	if diff := cmp.Diff(maxBytes/1000, len(seen)); diff != "" || last != 2001 || l.bytes > maxBytes {
		t.Errorf("%d bytes, %d: %s", l.bytes, last, diff)
	}
}
