package store

import "time"

// ahead is how far the clock may be behind what came last. What is farther ahead of it came before it was set back.
const ahead = time.Second

// arrivals are when the last message and the last command came.
type arrivals struct{ message, command int64 }

// next is when one comes that is taken in now. A command comes later than every message before it, be it in the same millisecond,
// and no message comes earlier than a command before it: /stop is told by this what it is for.
func (a *arrivals) next(lane Lane, now int64) int64 {
	came, before := &a.message, a.command
	if lane != TurnLane {
		came, before = &a.command, a.message+1
	}
	*came = now
	if before > now && before-now <= ahead.Milliseconds() {
		*came = before
	}
	return *came
}

// CameBefore tells whether a message came before a command that is carried out now.
func (q Queued) CameBefore(command time.Time) bool {
	return q.ReceivedAt.Before(command) || time.Until(q.ReceivedAt) > ahead
}
