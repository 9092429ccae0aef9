package queue

import (
	"strconv"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ReactionsChanged is the topic of messages that have a new stage.
const ReactionsChanged engine.Topic = "reactions"

// LaneReady is the topic of lanes of a kind that may have become claimable, or have a new time.
func LaneReady(lane domain.Lane) engine.Topic { return engine.Topic("lane " + lane) }

// runEnded is the topic of the end of an event's run.
func runEnded(channel string, id chat.EventID) engine.Topic {
	return engine.Topic("ended " + channel + " " + strconv.Quote(string(id)))
}

// Watch returns a channel that receives a value when the event's run ends. Call [Store.Outcome] after Watch,
// because the run may have ended already. The func ends the watch and may be called more than once.
func (s *Store) Watch(channel string, id chat.EventID) (<-chan struct{}, func()) {
	return s.db.Watch(runEnded(channel, id))
}
