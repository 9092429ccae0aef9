// Package plugindata has the steps of what plugins keep: their state and their wake-ups.
package plugindata

import "github.com/clawhost/clawhost/core/internal/store/engine"

// Store is the part of the store with these steps. Its methods are safe for concurrent use.
type Store struct {
	db engine.Engine
}

// New returns the part of the store in a database. Package store calls it.
func New(db engine.Engine) *Store { return &Store{db: db} }
