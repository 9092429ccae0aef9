// Package network is for channels that are clients of a network: when a call that failed is made again, what its failure
// means to the host, how files are fetched and shown, and what is told of the connection. It is shared by channel plugins.
//
// A failed call is a [*CallError], or an error of the channel's own with one embedded, which knows more of it. Of each it
// is known whether it may have had its effect all the same ([CallError.Uncertain]), whether it may succeed later
// ([CallError.MayPass]), and what the host should make of it ([CallError.Reason]). What only a person can fix the channel
// says itself, by sdk.ErrBadCredentials or sdk.ErrLoggedOut in what Run returns.
package network

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"
)

// Pause waits and reports whether it came to its end before ctx did.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Backoff is how long to wait between two tries: about First, then about twice as long each time, about Longest at most.
// No two clients wait equally long, so that not all come back at once to a network that was away.
type Backoff struct {
	First, Longest time.Duration
	Tries          int // all in all, by [Backoff.Again]; zero: without end

	tried int
	wait  time.Duration // the next one, on average; zero: First
}

// After returns how long to wait after a try that ended with err: at least as long as the network asks for.
func (b *Backoff) After(err error) time.Duration {
	b.tried++
	wait := max(b.wait, b.First)
	b.wait = min(2*wait, max(b.Longest, b.First))
	if wait > 0 {
		wait = wait/2 + rand.N(wait)
	}
	if e, ok := asFailed(err); ok {
		wait = max(wait, e.Wait())
	}
	return wait
}

// Again waits until the call that ended with err may be made again, and reports whether it may: not if it succeeded, nor if
// it cannot succeed later, nor after the last try, nor once ctx has ended.
func (b *Backoff) Again(ctx context.Context, err error) bool {
	e, ok := asFailed(err)
	if !ok || !e.MayPass() {
		return false
	}
	wait := b.After(err)
	return (b.Tries == 0 || b.tried < b.Tries) && Pause(ctx, wait)
}

// Fresh reports whether nothing has failed since the beginning, or since Reset.
func (b *Backoff) Fresh() bool { return b.tried == 0 }

// Reset has the waits begin anew.
func (b *Backoff) Reset() { b.tried, b.wait = 0, 0 }

// Seconds reads a number of seconds, as of the header Retry-After; zero for what is none.
func Seconds(text string) time.Duration {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || s <= 0 || s > 1e6 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
