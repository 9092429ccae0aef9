package store

import "github.com/clawhost/clawhost/core/internal/domain"

// arrivals are when the last message and the last command came.
type arrivals struct{ message, command int64 }

// next is when one comes that is taken in now. A command comes later than every message before it, be it in the same millisecond,
// and no message comes earlier than a command before it: /stop is told by this what it is for.
func (a *arrivals) next(lane domain.Lane, now int64) int64 {
	came, before := &a.message, a.command
	if lane != domain.TurnLane {
		came, before = &a.command, a.message+1
	}
	*came = now
	if before > now && before-now <= domain.MaxSkew.Milliseconds() {
		*came = before
	}
	return *came
}
