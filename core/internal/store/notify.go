package store

import (
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// event names an accepted event.
type event struct {
	channel string
	id      chat.EventID
}

// effects is what a step tells this process once it is committed.
type effects struct {
	turns, controls, commands, deliveries bool    // something may be claimable, or will at another time than before
	reactions                             bool    // messages have another stage
	transcript                            bool    // there are new entries
	ended                                 []event // events whose run has ended
	chosen                                *choice // what holds for a session now
}

func (e *effects) ready(lane domain.Lane) {
	switch lane {
	case domain.TurnLane:
		e.turns = true
	case domain.ControlLane:
		e.controls = true
	case domain.CommandLane:
		e.commands = true
	}
}

// all says that anything may be claimable, or will at another time than before.
func (e *effects) all() {
	e.turns, e.controls, e.commands, e.deliveries = true, true, true, true
}

// lane reports whether a lane of the kind may be claimable.
func (e *effects) lane(lane domain.Lane) bool {
	switch lane {
	case domain.ControlLane:
		return e.controls
	case domain.CommandLane:
		return e.commands
	default:
		return e.turns
	}
}

// add adds what is claimable behind another step.
func (e *effects) add(other effects) {
	e.turns, e.controls = e.turns || other.turns, e.controls || other.controls
	e.commands, e.deliveries = e.commands || other.commands, e.deliveries || other.deliveries
}

// notifier wakes those who wait for new entries or for a run's end, and keeps what was chosen at hand.
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

// ReactionsReady returns the channel that is poked when messages have another stage than they show: see [Store.Reactions].
func (s *Store) ReactionsReady() <-chan struct{} { return s.notify.reactions }

// TranscriptAppended returns the channel that is poked when a session's history has new entries. One poke may stand for
// many.
func (s *Store) TranscriptAppended() <-chan struct{} { return s.notify.transcript }

// Watch returns a channel that is closed when the event's run ends in this process: see [Store.Outcome], which must be
// asked after Watch, for the run may have ended already. The func ends the watch and may be called more than once.
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
