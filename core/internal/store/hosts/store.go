// Package hosts has the steps by which several hosts share a database: each process of a host has a lease, by the clock of the database,
// and while that lasts what it has in hand is its own; each lane has a placement, which says who may claim it; and a duty is done by one
// host at a time.
package hosts

import "github.com/clawhost/clawhost/core/internal/store/engine"

// Self is the process whose store this is. The zero Self is alone with its database.
type Self struct {
	ID   string // of the process, used once
	Name string // of the host
	// Folder is the id of its state folder, which only one process uses at a time.
	Folder string
}

// Alone reports whether no other host uses the database.
func (s Self) Alone() bool { return s.ID == "" }

// Fence is the query that returns a row as long as the host may write: its lease lasts, by the clock of PostgreSQL.
const Fence = `SELECT 1 FROM hosts WHERE id = $1 AND gone_at IS NULL AND lease_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// Store is the part of the store with these steps. Its methods are safe for concurrent use.
type Store struct {
	db   engine.Engine
	self Self
}

// New returns the part of the store in a database. Package store calls it.
func New(db engine.Engine, self Self) *Store { return &Store{db, self} }

// Changed is the topic of hosts that joined, left, lost their lease or are drained.
const Changed engine.Topic = "hosts"

// DutiesChanged is the topic of duties that have another host, or none.
const DutiesChanged engine.Topic = "duties"

// WatchHosts returns a channel that receives a value when [Store.Hosts] has changed, other than by renewed leases. The func ends the watch.
func (s *Store) WatchHosts() (<-chan struct{}, func()) { return s.db.Watch(Changed) }

// WatchDuties returns a channel that receives a value when a duty has another host, or none. The func ends the watch.
func (s *Store) WatchDuties() (<-chan struct{}, func()) { return s.db.Watch(DutiesChanged) }
