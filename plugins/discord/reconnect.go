package main

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/clawhost/clawhost/sdk/network"
)

// reconnect computes the waits between connections.
type reconnect struct {
	network.Backoff

	sound time.Duration // how long a connection must be live to reset the waits
}

func newReconnect(p pace) reconnect {
	return reconnect{network.Backoff{First: p.first, Longest: p.longest}, p.sound}
}

// after returns how long to wait after a connection that ended with err. It was live for the given time; zero: never. If
// Discord asks for a new connection it gets one at once, unless a failure was recent: a server that always asks is treated
// like a broken one.
func (r *reconnect) after(live time.Duration, err error) time.Duration {
	if live >= r.sound {
		r.Reset()
	}
	closed, ok := errors.AsType[*closedError](err)
	atOnce := ok && closed.asked && live > 0 && r.Fresh()
	wait := r.After(err)
	if atOnce {
		wait = 0
	}
	if ok && closed.lost {
		wait = max(wait, r.First+rand.N(4*r.First)) // Discord requires 1 to 5 seconds
	}
	return wait
}
