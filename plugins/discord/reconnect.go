package main

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/clawhost/clawhost/sdk/network"
)

// reconnect is how long the bot waits between two connections.
type reconnect struct {
	network.Backoff

	sound time.Duration // how long a connection must be live for the waits to begin anew
}

func newReconnect(p pace) reconnect {
	return reconnect{network.Backoff{First: p.first, Longest: p.longest}, p.sound}
}

// after returns how long to wait after a connection that ended with err. It was live for some time, or never if that is zero.
// Where Discord asks for a new connection it gets one at once, unless there was trouble shortly before: a server that always
// asks is not asked any faster than one that is broken.
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
		wait = max(wait, r.First+rand.N(4*r.First)) // Discord wants 1 to 5 seconds.
	}
	return wait
}
