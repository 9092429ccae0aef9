package domain

import (
	"slices"
	"time"
)

const (
	// MaxCap is the largest cap of a queue, in messages.
	MaxCap = 1000
	// MaxQuiet is the longest quiet that a queue waits for.
	MaxQuiet = 10 * time.Minute
)

// Mode is what becomes of a message that arrives while its session's turn runs.
type Mode string

// The modes. Any other, the zero one among them, counts as Followup.
const (
	Followup     Mode = "followup"      // it waits for a turn of its own, which begins when the lane has been quiet
	Queue        Mode = "queue"         // the same, without the wait for quiet
	Collect      Mode = "collect"       // it waits for a turn together with others
	Steer        Mode = "steer"         // it is told to the running turn, or waits like Followup
	SteerBacklog Mode = "steer-backlog" // the same
	Interrupt    Mode = "interrupt"     // it ends the running turn and drops what waits, or waits where any of that is of a higher authority
)

// Drop is which message is dropped when too many wait.
type Drop string

// The ways to drop. Any other, the zero one among them, counts as DropSummarize.
const (
	DropOld       Drop = "old"       // the one that has waited for the longest
	DropNew       Drop = "new"       // the new one
	DropSummarize Drop = "summarize" // the oldest, of which the next turn is told a line
)

// Queueing is how a message waits in the turn lane.
type Queueing struct {
	Mode Mode
	// Quiet is how long after it came a message is claimed that came to others, or to a running turn. What is collected
	// waits for the quiet after the last of it, for five times as long at most.
	Quiet time.Duration
	Cap   int // more waiting messages are dropped, where a burst is one; zero: no limit
	Drop  Drop
}

// modes are all modes in the order in which they are shown, each with the words for it; the first one is its name.
var modes = []struct {
	words  []string
	steers bool // a message may be told to the running turn
	quiet  bool // a message that is not the only one waits for quiet
}{
	{words: []string{string(Steer)}, steers: true},
	{words: []string{string(Followup), "follow-up"}, quiet: true},
	{words: []string{string(Collect)}, quiet: true},
	{words: []string{string(Interrupt)}},
	{words: []string{string(SteerBacklog), "steer+backlog", "steer_backlog"}, steers: true},
	{words: []string{string(Queue), "queued"}},
}

// drops are all ways to drop, as modes are.
var drops = [][]string{
	{string(DropSummarize), "summarise", "summary"},
	{string(DropOld), "oldest"},
	{string(DropNew), "newest"},
}

// Modes returns the names of all modes, in the order in which they are shown.
func Modes() []string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = m.words[0]
	}
	return names
}

// ParseMode returns the mode that a word means, in lower case.
func ParseMode(word string) (Mode, bool) {
	for _, m := range modes {
		if slices.Contains(m.words, word) {
			return Mode(m.words[0]), true
		}
	}
	return "", false
}

// Drops returns the names of all ways to drop, in the order in which they are shown.
func Drops() []string {
	names := make([]string, len(drops))
	for i, words := range drops {
		names[i] = words[0]
	}
	return names
}

// ParseDrop returns the way to drop that a word means, in lower case.
func ParseDrop(word string) (Drop, bool) {
	for _, words := range drops {
		if slices.Contains(words, word) {
			return Drop(words[0]), true
		}
	}
	return "", false
}

// Waits reports whether a message that is not the only one waits for quiet.
func (q Queueing) Waits() bool {
	for _, m := range modes {
		if m.words[0] == string(q.Mode) {
			return m.quiet && q.Quiet > 0
		}
	}
	return q.Quiet > 0
}

// Steers reports whether a message may be told to the running turn.
func (q Queueing) Steers() bool {
	for _, m := range modes {
		if m.words[0] == string(q.Mode) {
			return m.steers
		}
	}
	return false
}
