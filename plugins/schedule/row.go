package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of what is kept.
const (
	maxText      = 2 << 10 // bytes of a schedule's text
	maxHistory   = 20      // runs
	maxDetail    = 200     // bytes of why a run failed
	maxPerChat   = 50      // schedules
	maxPerPerson = 50
	maxSchedules = 2000 // of all chats
)

// row is a schedule as it is kept.
type row struct {
	ID   int    `json:"id"`
	Rule rule   `json:"rule"`
	Ask  bool   `json:"ask,omitempty"` // the agent is asked; otherwise the text is sent
	Text string `json:"text"`
	Own  bool   `json:"own,omitempty"` // each run is in a conversation of the schedule's own

	To        chat.Address `json:"to"`
	Kind      chat.Kind    `json:"kind"`
	Person    person       `json:"person"`
	Untrusted bool         `json:"untrusted,omitempty"`
	Created   time.Time    `json:"created"`

	// After is the time up to which all due times are accounted for: as runs in Ran, or in Missed.
	After  time.Time `json:"after"`
	Ran    int       `json:"ran,omitempty"`
	Missed int       `json:"missed,omitempty"`
	// Run is the run that is decided and not over. What it does has a key, so that it can be done again after a crash.
	Run *run `json:"run,omitempty"`
	// Asked are due times that were missed, for which the chat is asked whether they should be made up for.
	Asked    *asked  `json:"asked,omitempty"`
	Paused   string  `json:"paused,omitempty"`   // why; empty: the schedule is active
	Failures int     `json:"failures,omitempty"` // in a row
	Tell     string  `json:"tell,omitempty"`     // the key of a message that says that the schedule is paused, until it is sent
	History  []entry `json:"history,omitempty"`  // the oldest first
}

// Why a schedule is paused.
const (
	byPerson   = "a person has paused it"
	byFailures = "it failed 8 times in a row"
)

// maxFailures in a row pause a schedule.
const maxFailures = 8

// person is who has made a schedule.
type person struct {
	Channel string      `json:"channel,omitempty"`
	ID      chat.UserID `json:"id,omitempty"`
	Name    string      `json:"name,omitempty"`
}

// run is one use of a schedule.
type run struct {
	Key  string    `json:"key"`
	Due  time.Time `json:"due"`
	At   time.Time `json:"at"`             // when it was decided
	Late bool      `json:"late,omitempty"` // the due time was missed
}

// asked are due times that nobody has decided on.
type asked struct {
	Due    time.Time `json:"due"` // the last one
	Count  int       `json:"count"`
	Posted bool      `json:"posted,omitempty"`
}

// entry is a line of the history: a run, or due times that were missed.
type entry struct {
	Due     time.Time `json:"due"`
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`
	Missed  int       `json:"missed,omitempty"` // how many due times this is about; zero: it is a run
}

// Outcomes.
const (
	sent     = "sent"
	answered = "answered"
	failed   = "failed"
	missed   = "missed"
)

func (r row) clone() row {
	if r.Run != nil {
		r.Run = new(*r.Run)
	}
	if r.Asked != nil {
		r.Asked = new(*r.Asked)
	}
	r.History = slices.Clone(r.History)
	return r
}

func (r *row) note(e entry) {
	e.Detail = cutText(e.Detail, maxDetail)
	r.History = append(r.History, e)
	r.History = r.History[max(0, len(r.History)-maxHistory):]
}

// miss accounts for due times that are not made up for.
func (r *row) miss(due, now time.Time, count int, why string) {
	if count > 0 {
		r.Missed += count
		r.note(entry{Due: due, At: now, Outcome: missed, Detail: why, Missed: count})
	}
}

// proposal is a schedule that the agent would like to have.
type proposal struct {
	row

	Made time.Time `json:"made"`
}

func (p proposal) clone() proposal {
	p.row = p.row.clone()
	return p
}

// Proposals in one chat, and how long one can be agreed to.
const (
	maxProposals = 5
	proposalLife = 24 * time.Hour
)

// Keys of the state. They name the person, so that `clawhost forget` deletes what is kept of them. The number is next to a letter: alone
// it could be somebody's id.
const (
	counterKey     = "counter"
	schedulePrefix = "s"
	proposalPrefix = "p"
	maxKey         = 256 // bytes
)

func keyOf(prefix string, id int, p person) string {
	key := prefix + strconv.Itoa(id) + "/"
	if who := p.Channel + ":" + string(p.ID); len(key)+len(who) <= maxKey {
		key += who
	}
	return key
}

// keyed is a value with its key and its revision.
type keyed[T any] struct {
	key      string
	revision uint64
	value    T
}

// copied is a value that can be changed without changing the one that it was copied from.
type copied[T any] interface{ clone() T }

// store reads and writes values of one kind as JSON.
type store[T copied[T]] struct {
	state  sdk.State
	prefix string
}

// load reads all values.
func (s store[T]) load(ctx context.Context) (list []*keyed[T], err error) {
	for after := ""; ; {
		keys, err := s.state.List(ctx, s.prefix, after)
		if err != nil {
			return nil, err
		}
		if len(keys) == 0 {
			return list, nil
		}
		for _, key := range keys {
			k := &keyed[T]{key: key}
			if err := s.read(ctx, k); errors.Is(err, sdk.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, err
			}
			list = append(list, k)
		}
		after = keys[len(keys)-1]
	}
}

// read reads the value of a key again.
func (s store[T]) read(ctx context.Context, k *keyed[T]) error {
	raw, revision, err := s.state.Get(ctx, k.key)
	if err != nil {
		return err
	}
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("read the schedule %q: %w", strings.SplitN(k.key, "/", 2)[0], err)
	}
	k.value, k.revision = value, revision
	return nil
}

// change writes what f makes of a copy of the value. After a conflict, also with an earlier write of this process of which it has not
// learned, f is called with what is kept.
func (s store[T]) change(ctx context.Context, k *keyed[T], f func(*T)) error {
	for try := 0; ; try++ {
		value := k.value.clone()
		f(&value)
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		revision, err := s.state.PutIf(ctx, k.key, raw, k.revision)
		if err == nil {
			k.value, k.revision = value, revision
			return nil
		}
		if !errors.Is(err, sdk.ErrConflict) || try == 3 {
			return err
		}
		if err := s.read(ctx, k); err != nil {
			return err
		}
	}
}

// maxCalls is how many uses of commands are remembered.
const maxCalls = 100

// counter numbers schedules.
type counter struct {
	Last  int    `json:"last"`
	Calls []used `json:"calls,omitempty"` // the latest uses of commands that have a number
}

// used is a number that belongs to a use of a command, which the host may repeat after a crash.
type used struct {
	Call   string    `json:"call"` // a digest, because the id of a call may name a person
	Number int       `json:"number"`
	At     time.Time `json:"at"`
}

// digest shortens the id of a call.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:12])
}

// counted returns what a use of a command has got already.
func (c counter) counted(call string) (used, bool) {
	i := slices.IndexFunc(c.Calls, func(u used) bool { return call != "" && u.Call == digest(call) })
	if i < 0 {
		return used{}, false
	}
	return c.Calls[i], true
}

// readCounter reads the counter.
func readCounter(ctx context.Context, state sdk.State) (c counter, revision uint64, err error) {
	raw, revision, err := state.Get(ctx, counterKey)
	if errors.Is(err, sdk.ErrNotFound) {
		return counter{}, 0, nil
	}
	if err == nil {
		if err = json.Unmarshal(raw, &c); err != nil {
			err = fmt.Errorf("read the counter of schedules: %w", err)
		}
	}
	return c, revision, err
}

// number returns a number that no schedule has had; for a call that is repeated it is that of the first time.
func number(ctx context.Context, state sdk.State, call string, now time.Time) (int, error) {
	for try := 0; ; try++ {
		c, revision, err := readCounter(ctx, state)
		if err != nil {
			return 0, err
		}
		if known, ok := c.counted(call); ok {
			return known.Number, nil
		}
		c.Last++
		if call != "" {
			c.Calls = append(c.Calls, used{digest(call), c.Last, now})
			c.Calls = c.Calls[max(0, len(c.Calls)-maxCalls):]
		}
		raw, err := json.Marshal(c)
		if err != nil {
			return 0, err
		}
		_, err = state.PutIf(ctx, counterKey, raw, revision)
		if err == nil {
			return c.Last, nil
		}
		if !errors.Is(err, sdk.ErrConflict) || try == 10 {
			return 0, err
		}
	}
}
