package sdktest

import (
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// awaitHost waits for something of the host; done is called with its lock held.
func (h *Harness) awaitHost(what string, done func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if err := h.Host.await(ctx, done); err != nil {
		h.t.Fatalf("waited in vain until %s", what)
	}
}

// eventually waits for something of the network, which gives no sign when it changes.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range polls {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// polls yields at once, and then again and again, ever more seldom, while the harness is patient.
func polls(yield func() bool) {
	deadline := time.After(patience)
	for wait := 5 * time.Millisecond; yield(); wait = min(wait*5/4, 100*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-deadline:
			return
		}
	}
}

// goroutines returns the stacks of the goroutines that bear the label, but for those that are in a function that leaks.
func goroutines(label string, leaks []string) string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	var mine []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		leaky := slices.ContainsFunc(leaks, func(function string) bool { return strings.Contains(stack, function+"+") })
		if strings.Contains(stack, label) && !leaky {
			mine = append(mine, stack)
		}
	}
	return strings.Join(mine, "\n\n")
}
