package exchange

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// A line that is written while a tool runs is steered into the turn: the CLI shows it to the model after the tool's
// result, and one result covers both. A line after the last tool waits until the turn has ended, and then the CLI runs
// it by itself, several together. The exchange follows such turns, too: a session is idle only when all its lines are
// accounted for.

// LineState is the state of a steered line.
type LineState int

// The states of a steered line.
const (
	Waiting   LineState = iota // the CLI has it, or is about to get it
	Consumed                   // the model has seen it, or will
	Cancelled                  // it was withdrawn
)

// steered is a line that was written into a turn.
type steered struct {
	uuid  string
	state LineState
	turn  int // the index of its turn in Exchange.over, once it is consumed
}

// Expect begins to follow a line that is about to be written. It reports whether it may be written.
func (x *Exchange) Expect(uuid string) bool {
	if x.finished || uuid == x.uuid || x.find(uuid) != nil {
		return false
	}
	x.steered = append(x.steered, steered{uuid: uuid})
	return true
}

// find returns a steered line.
func (x *Exchange) find(uuid string) *steered {
	for i := range x.steered {
		if x.steered[i].uuid == uuid {
			return &x.steered[i]
		}
	}
	return nil
}

// Consume records that the model will see a line, and reports whether it is a steered one.
func (x *Exchange) Consume(uuid string) bool {
	l := x.find(uuid)
	if l == nil {
		return false
	}
	if l.state == Waiting {
		l.state, l.turn = Consumed, len(x.over)
	}
	return true
}

// steeredLifecycle handles the CLI's reports about a steered line. A consumed line is reported as cancelled when its
// turn is stopped or fails, although the model has seen it.
func (x *Exchange) steeredLifecycle(uuid, state string) {
	switch state {
	case "started", "completed":
		x.Consume(uuid)
	case "cancelled":
		x.cancel(uuid)
	}
}

func (x *Exchange) cancel(uuid string) {
	if l := x.find(uuid); l != nil && l.state == Waiting {
		l.state = Cancelled
		x.settle()
	}
}

const withdrawal = "withdraw "

// WithdrawalID is the id of a request to withdraw a line. Unique distinguishes several for one line.
func WithdrawalID(line, unique string) string {
	return strings.TrimSpace(withdrawal + line + " " + unique)
}

// withdrawn handles the answer to a request to withdraw a line. After a no, the CLI also reports that it has started
// the line.
func (x *Exchange) withdrawn(e *protocol.Event) {
	if ids, ok := strings.CutPrefix(e.Response.RequestID, withdrawal); ok && e.Response.Response.Cancelled {
		line, _, _ := strings.Cut(ids, " ")
		x.cancel(line)
	}
}

// Line returns the state of a steered line, if it is one.
func (x *Exchange) Line(uuid string) (LineState, bool) {
	l := x.find(uuid)
	if l == nil {
		return 0, false
	}
	return l.state, true
}

// Unread returns the waiting steered lines.
func (x *Exchange) Unread() []string {
	var ids []string
	for _, l := range x.steered {
		if l.state == Waiting {
			ids = append(ids, l.uuid)
		}
	}
	return ids
}

// taken is how many steered lines the model has seen.
func (x *Exchange) taken() int {
	n := 0
	for _, l := range x.steered {
		if l.state == Consumed {
			n++
		}
	}
	return n
}

// runs reports whether a turn of steered lines runs or is about to.
func (x *Exchange) runs() bool {
	return slices.ContainsFunc(x.steered, func(l steered) bool { return l.state == Consumed && l.turn == len(x.over) })
}

// settle finishes the exchange once the line's turn has ended and no steered line will run.
func (x *Exchange) settle() {
	waits := slices.ContainsFunc(x.steered, func(l steered) bool { return l.state == Waiting })
	x.finished = len(x.over) > 0 && !waits && !x.runs()
}

// forgetEchoes is called when the CLI is idle after the line's turn: nothing will run for the lines that were started
// since.
func (x *Exchange) forgetEchoes() {
	for i := range x.steered {
		if l := &x.steered[i]; l.state == Consumed && l.turn == len(x.over) {
			l.turn--
		}
	}
	x.settle()
}

// Covered are the steered lines that need no run of their own. Those in the line's own turn are part of its
// conversation, however it ended. Others need none if their answer is in the result, or if they were stopped.
func (x *Exchange) Covered(stopped bool) []string {
	var ids []string
	for _, l := range x.steered {
		if l.state != Consumed {
			continue
		}
		answered := x.Succeeded() && l.turn < len(x.over) && x.over[l.turn].succeeded()
		if l.turn == 0 || answered || stopped {
			ids = append(ids, l.uuid)
		}
	}
	return ids
}
