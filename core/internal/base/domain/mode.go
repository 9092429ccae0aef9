package domain

import (
	"slices"
	"time"
)

const (
	// MaxCap is the maximum cap of a queue, in messages.
	MaxCap = 1000
	// MaxQuiet is the maximum quiet time of a queue.
	MaxQuiet = 10 * time.Minute
)

// Mode says how a message is queued that arrives while its session's turn runs.
type Mode string

// The modes. Any other value, including the zero one, counts as Followup; the config's default is Steer.
const (
	Followup     Mode = "followup"      // waits for a separate turn, which starts when the lane has been quiet
	Queue        Mode = "queue"         // the same, without the wait for quiet
	Collect      Mode = "collect"       // waits for a turn together with others
	Steer        Mode = "steer"         // is steered into the running turn, or waits like Followup
	SteerBacklog Mode = "steer-backlog" // the same
	Interrupt    Mode = "interrupt"     // ends the running turn and drops waiting messages, or waits if any of those has a higher authority
)

// Drop says which message is dropped when too many wait.
type Drop string

// The ways to drop. Any other value, including the zero one, counts as DropSummarize.
const (
	DropOld       Drop = "old"       // the oldest one
	DropNew       Drop = "new"       // the new one
	DropSummarize Drop = "summarize" // the oldest, with a line in a note for the next turn
)

// Queueing configures how a message waits in the turn lane.
type Queueing struct {
	Mode Mode
	// Quiet is the quiet time before a message is claimed that arrived behind others, or during a turn. Collected messages
	// wait for the quiet time after the last of them, for at most five times as long in total.
	Quiet time.Duration
	Cap   int // maximum waiting messages, a burst counting as one; zero: no limit
	Drop  Drop
}

// modes lists all modes in display order, each with the words for it; the first one is its name.
var modes = []struct {
	words  []string
	steers bool // a message may be steered into the running turn
	quiet  bool // a message that is not the only one waits for quiet
}{
	{words: []string{string(Steer)}, steers: true},
	{words: []string{string(Followup), "follow-up"}, quiet: true},
	{words: []string{string(Collect)}, quiet: true},
	{words: []string{string(Interrupt)}},
	{words: []string{string(SteerBacklog), "steer+backlog", "steer_backlog"}, steers: true},
	{words: []string{string(Queue), "queued"}},
}

// drops lists all ways to drop, as modes does.
var drops = [][]string{
	{string(DropSummarize), "summarise", "summary"},
	{string(DropOld), "oldest"},
	{string(DropNew), "newest"},
}

// Modes returns the names of all modes, in display order.
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

// Drops returns the names of all ways to drop, in display order.
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

// Steers reports whether a message may be steered into the running turn.
func (q Queueing) Steers() bool {
	for _, m := range modes {
		if m.words[0] == string(q.Mode) {
			return m.steers
		}
	}
	return false
}
