package store

import (
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Topics that steps announce. Those that wait for one are the Claim of package dispatch, the ClaimDeliveries of package outbox and
// the DueWakeUp of package wakeup.
const (
	deliveriesReady  engine.Topic = "deliveries" // destinations may have become due, or have a new time
	reactionsChanged engine.Topic = "reactions"  // messages have a new stage
	transcriptGrew   engine.Topic = "transcript" // there are new entries
	wakeUpsSet       engine.Topic = "wake-ups"   // of plugins, which may have a new time
)

// laneReady is the topic of lanes of a kind that may have become claimable, or have a new time.
func laneReady(lane domain.Lane) engine.Topic { return engine.Topic("lane " + lane) }

// runEnded is the topic of the end of an event's run.
func runEnded(channel string, id chat.EventID) engine.Topic {
	return engine.Topic("ended " + channel + "\x00" + string(id))
}

// anything announces that anything may have become claimable, or have a new time.
func anything(t *engine.Tx) {
	t.Announce(laneReady(domain.TurnLane), laneReady(domain.ControlLane), laneReady(domain.CommandLane), laneReady(domain.ShellLane),
		deliveriesReady, wakeUpsSet)
}

// ReactionsReady returns a channel that receives a value when messages have another stage than they show: see
// [Store.Reactions].
func (s *Store) ReactionsReady() <-chan struct{} { return s.reactions }

// TranscriptAppended returns a channel that receives a value when a session's history has new entries. One value may
// stand for many.
func (s *Store) TranscriptAppended() <-chan struct{} { return s.transcript }

// Watch returns a channel that receives a value when the event's run ends. Call [Store.Outcome] after Watch,
// because the run may have ended already. The func ends the watch and may be called more than once.
func (s *Store) Watch(channel string, id chat.EventID) (<-chan struct{}, func()) {
	return s.db.Watch(runEnded(channel, id))
}
