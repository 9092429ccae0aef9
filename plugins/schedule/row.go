package main

import (
	"context"
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

// number returns a number that no schedule has had.
func number(ctx context.Context, state sdk.State) (int, error) {
	for try := 0; ; try++ {
		raw, revision, err := state.Get(ctx, counterKey)
		if err != nil && !errors.Is(err, sdk.ErrNotFound) {
			return 0, err
		}
		last, err := strconv.Atoi(string(raw))
		if err != nil && len(raw) > 0 {
			return 0, fmt.Errorf("read the counter of schedules: %w", err)
		}
		_, err = state.PutIf(ctx, counterKey, []byte(strconv.Itoa(last+1)), revision)
		if err == nil {
			return last + 1, nil
		}
		if !errors.Is(err, sdk.ErrConflict) || try == 10 {
			return 0, err
		}
	}
}
