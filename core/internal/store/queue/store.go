// Package queue has the steps of messages and runs: a message is accepted into a lane, the lane's head is claimed as a run, and the run is
// completed together with the items of its answer.
package queue

import (
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
)

// Store is the part of the store with these steps. Its methods are safe for concurrent use.
type Store struct {
	db        engine.Engine
	self      hosts.Self
	reactions <-chan struct{}
}

// New returns the part of the store in a database. Package store calls it.
func New(db engine.Engine, self hosts.Self) *Store {
	reactions, _ := db.Watch(ReactionsChanged)
	return &Store{db, self, reactions}
}
