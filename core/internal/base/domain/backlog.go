package domain

import "time"

// Backlog sums up what the store holds that is not done yet.
type Backlog struct {
	Lanes     map[Lane]LaneBacklog     // those with work
	Outbox    map[string]OutboxBacklog // by channel: those with items
	Uncertain int64                    // items that were ever sent again because a send's outcome was unknown
}

// LaneBacklog is the work in all lanes of a kind.
type LaneBacklog struct {
	Waiting int       // messages
	Running int       // runs
	Oldest  time.Time // when the oldest waiting message was received; zero: none waits
}

// OutboxBacklog is the items of a channel.
type OutboxBacklog struct {
	Pending int
	Oldest  time.Time // when the oldest pending item was posted; zero: none is pending
	Dead    int       // given up
}
