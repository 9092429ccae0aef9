package sdktest

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// awaitHost waits for a state of the host; done is called with its lock held.
func (h *Harness) awaitHost(what string, done func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if err := h.Host.await(ctx, done); err != nil {
		h.t.Fatalf("timed out after %v: %s; submitted: %s", patience, what, shown(h.Host.Submissions()))
	}
}

// eventually polls the network, which does not report changes, until the result is as wanted.
func eventually[T any](t testing.TB, what string, look func() T, wanted func(T) bool) {
	t.Helper()
	var seen T
	for range polls {
		if seen = look(); wanted(seen) {
			return
		}
	}
	t.Fatalf("timed out after %v: %s; last seen: %s", patience, what, shown(seen))
}

// sentTo returns a function that returns what has reached a chat.
func sentTo(n Network, to chat.ID) func() []string { return func() []string { return n.Sent(to) } }

func has(text string) func([]string) bool {
	return func(seen []string) bool { return slices.Contains(seen, text) }
}

func are(texts ...string) func([]string) bool {
	return func(seen []string) bool { return slices.Equal(seen, texts) }
}

func is[T comparable](want T) func(T) bool { return func(seen T) bool { return seen == want } }

// maxShown limits how much a failure shows of what was seen, in bytes.
const maxShown = 2 << 10

// shown formats a value for a failure.
func shown(value any) string {
	text := fmt.Sprintf("%+v", value)
	if texts, ok := value.([]string); ok {
		text = fmt.Sprintf("%q", texts)
	}
	if len(text) > maxShown {
		text = text[:maxShown/2] + " … " + text[len(text)-maxShown/2:]
	}
	return text
}

// polls yields at once, and then at growing intervals until the harness's patience ends.
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

// goroutines returns the stacks of the goroutines with the label, except those in a function that leaks.
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
