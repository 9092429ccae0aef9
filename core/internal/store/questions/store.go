// Package questions has the steps of questions that the agent asks, and of the grants that answer them in advance.
package questions

import "github.com/clawhost/clawhost/core/internal/store/engine"

// Changed is the topic of questions that were answered or have ended, or have lost a message.
const Changed engine.Topic = "questions"

// Store is the part of the store with these steps. Its methods are safe for concurrent use.
type Store struct {
	db engine.Engine
}

// New returns the part of the store in a database. Package store calls it.
func New(db engine.Engine) *Store { return &Store{db: db} }
