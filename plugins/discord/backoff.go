package main

import (
	"errors"
	"math/rand/v2"
	"time"
)

// backoff is how long the bot waits between two connections.
type backoff struct {
	pace pace
	wait time.Duration // before the next connection, on average
}

func newBackoff(p pace) backoff { return backoff{pace: p, wait: p.first} }

// after returns how long to wait after a connection that ended with err. It was live for some time, or never if that is zero.
// Where Discord asks for a new connection it gets one at once, unless there was trouble shortly before: a server that always
// asks is not asked any faster than one that is broken.
func (b *backoff) after(live time.Duration, err error) time.Duration {
	if live >= b.pace.sound {
		b.wait = b.pace.first
	}
	closed, ok := errors.AsType[*closedError](err)
	wait := b.wait/2 + rand.N(b.wait) // Not all bots at once, after Discord was away.
	if ok && closed.asked && live > 0 && b.wait == b.pace.first {
		wait = 0
	}
	if ok && closed.lost {
		wait = max(wait, b.pace.first+rand.N(4*b.pace.first)) // Discord wants 1 to 5 seconds.
	}
	if e, ok := errors.AsType[*callError](err); ok {
		wait = max(wait, e.retryAfter)
	}
	b.wait = min(2*b.wait, b.pace.longest)
	return wait
}
