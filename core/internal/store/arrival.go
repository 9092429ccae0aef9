package store

import "github.com/clawhost/clawhost/core/internal/base/domain"

// arrivals are the times of the last message and the last command.
type arrivals struct{ message, command int64 }

// next is the time of a message or command that is accepted now. A command is later than every message before it, even
// in the same millisecond, and no message is earlier than a command before it: /stop uses these times to decide what it
// stops.
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
