package store

import (
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// event names an accepted event.
type event struct {
	channel string
	id      chat.EventID
}

// effects is what a step announces in this process once it is committed. It wakes the steps that wait, through writer.woken:
// Accept the Claim of package dispatch, Complete the ClaimDeliveries of package outbox, WakeAt the DueWakeUp of package wakeup.
type effects struct {
	turns, controls, commands, shells, deliveries bool    // lanes may have become claimable, or have a new time
	reactions                                     bool    // messages have a new stage
	transcript                                    bool    // there are new entries
	wakeUps                                       bool    // of plugins were set, or may have a new time
	ended                                         []event // their runs have ended
	chosen                                        *choice // a session's new settings
}

func (e *effects) ready(lane domain.Lane) {
	switch lane {
	case domain.TurnLane:
		e.turns = true
	case domain.ControlLane:
		e.controls = true
	case domain.CommandLane:
		e.commands = true
	case domain.ShellLane:
		e.shells = true
	}
}

// all announces that anything may have become claimable, or have a new time.
func (e *effects) all() {
	e.turns, e.controls, e.commands, e.shells, e.deliveries, e.wakeUps = true, true, true, true, true, true
}

// lane reports whether a lane of the kind may be claimable.
func (e *effects) lane(lane domain.Lane) bool {
	switch lane {
	case domain.ControlLane:
		return e.controls
	case domain.CommandLane:
		return e.commands
	case domain.ShellLane:
		return e.shells
	default:
		return e.turns
	}
}

// add adds the effects of another step.
func (e *effects) add(other effects) {
	e.turns, e.controls = e.turns || other.turns, e.controls || other.controls
	e.commands, e.shells, e.deliveries = e.commands || other.commands, e.shells || other.shells, e.deliveries || other.deliveries
	e.wakeUps = e.wakeUps || other.wakeUps
}

// notifier wakes those who wait for new entries or for a run's end, and updates the cached settings.
type notifier struct {
	chosen choices

	reactions, transcript chan struct{}

	mu       sync.Mutex
	watchers map[event][]chan struct{}
}

func newNotifier() *notifier {
	return &notifier{
		reactions:  make(chan struct{}, 1),
		transcript: make(chan struct{}, 1),
		watchers:   make(map[event][]chan struct{}),
	}
}

func (n *notifier) fire(e effects) {
	if e.reactions {
		poke(n.reactions)
	}
	if e.transcript {
		poke(n.transcript)
	}
	if e.chosen != nil {
		n.chosen.keep(*e.chosen)
	}
	if len(e.ended) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ev := range e.ended {
		for _, c := range n.watchers[ev] {
			close(c)
		}
		delete(n.watchers, ev)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// ReactionsReady returns a channel that receives a value when messages have another stage than they show: see
// [Store.Reactions].
func (s *Store) ReactionsReady() <-chan struct{} { return s.notify.reactions }

// TranscriptAppended returns a channel that receives a value when a session's history has new entries. One value may
// stand for many.
func (s *Store) TranscriptAppended() <-chan struct{} { return s.notify.transcript }

// Watch returns a channel that is closed when the event's run ends in this process. Call [Store.Outcome] after Watch,
// because the run may have ended already. The func ends the watch and may be called more than once.
func (s *Store) Watch(channel string, id chat.EventID) (<-chan struct{}, func()) {
	n, ev, c := s.notify, event{channel, id}, make(chan struct{})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watchers[ev] = append(n.watchers[ev], c)
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		rest := slices.DeleteFunc(n.watchers[ev], func(other chan struct{}) bool { return other == c })
		if len(rest) == 0 {
			delete(n.watchers, ev)
			return
		}
		n.watchers[ev] = rest
	}
}
