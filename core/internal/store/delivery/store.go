// Package delivery has the steps of the outbox: items are posted, claimed, sent and marked delivered, in order for each destination.
package delivery

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
)

// DeliveriesReady is the topic of destinations that may have become due, or have a new time.
const DeliveriesReady engine.Topic = "deliveries"

// Store is the part of the store with these steps. Its methods are safe for concurrent use.
type Store struct {
	db    engine.Engine
	self  hosts.Self
	id    string // the prefix of idempotency keys
	moves moves
}

// New returns the part of the store in a database, whose id is the prefix of idempotency keys. Package store calls it.
func New(ctx context.Context, db engine.Engine, self hosts.Self, id string) (*Store, error) {
	read, err := moved(db.View(ctx))
	if err != nil {
		return nil, fmt.Errorf("read which chats have moved: %w", err)
	}
	s := &Store{db: db, self: self, id: id}
	s.moves.set(read)
	return s, nil
}
