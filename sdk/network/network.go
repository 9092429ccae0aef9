// Package network is for channels that are clients of a network. It decides when a failed call is retried, what a failure
// means to the host, how files are fetched and shown, and what is reported about the connection. It is shared by channel
// plugins.
//
// A failed call is a [*CallError], or a channel's own error that embeds one and knows more. It says whether the call may
// have taken effect ([CallError.Uncertain]), whether a retry may succeed ([CallError.MayPass]), and the reason for the host
// ([CallError.Reason]). If only a person can fix the problem, the channel returns sdk.ErrBadCredentials or sdk.ErrLoggedOut
// from Run.
package network

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"
)

// Pause waits for d and reports whether it did so before ctx ended.
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

// Backoff computes the waits between attempts: about First, then about twice as long each time, at most about Longest. The
// waits are random, so that clients do not all return at once to a network that was down.
type Backoff struct {
	First, Longest time.Duration
	Tries          int // maximum attempts in total, for [Backoff.Again]; zero: no limit

	tried int
	wait  time.Duration // the next one, on average; zero: First
}

// After returns how long to wait after an attempt that ended with err: at least as long as the network asks for.
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

// Again waits until the call that ended with err may be retried, and reports whether it may: not if it succeeded, if it
// cannot succeed later, after the last attempt, or once ctx has ended.
func (b *Backoff) Again(ctx context.Context, err error) bool {
	e, ok := asFailed(err)
	if !ok || !e.MayPass() {
		return false
	}
	wait := b.After(err)
	return (b.Tries == 0 || b.tried < b.Tries) && Pause(ctx, wait)
}

// Fresh reports whether nothing has failed since the start or the last Reset.
func (b *Backoff) Fresh() bool { return b.tried == 0 }

// Reset restarts the waits at First.
func (b *Backoff) Reset() { b.tried, b.wait = 0, 0 }

// Seconds parses a number of seconds, as in the header Retry-After. It returns zero if the text is not a number.
func Seconds(text string) time.Duration {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || s <= 0 || s > 1e6 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
