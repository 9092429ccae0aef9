// Package sessions has the steps of conversations: who they are with, how they are run, what was said in them, what they cost, and what their
// next turn gets.
package sessions

import (
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
)

// Store is the part of the store with these steps. Its methods are safe for concurrent use.
type Store struct {
	db       engine.Engine
	self     hosts.Self
	appended <-chan struct{}
}

// New returns the part of the store in a database. Package store calls it.
func New(db engine.Engine, self hosts.Self) *Store {
	appended, _ := db.Watch(TranscriptGrew)
	return &Store{db, self, appended}
}
