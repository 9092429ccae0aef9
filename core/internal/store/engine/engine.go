// Package engine is what the store needs of a database: transactions that run one step each, queries, and announcements of what
// has changed. It knows no tables. Packages sqlite and postgres implement it.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Engine is a database. Its methods are safe for concurrent use.
type Engine interface {
	// Run runs a step in a transaction that is on disk when Run returns nil. If the context ends before the step has begun, the step is
	// not done and the context's error is returned; a step that has begun is completed and reported. After an error that is neither of
	// the step nor of a context, it is unknown whether the step was done.
	Run(ctx context.Context, s Step) error
	// View reads committed data, at the time of each query, until ctx ends. Nothing is read within the reading of something else.
	View(ctx context.Context) View
	// Watch returns a channel that receives a value after a transaction has announced the topic; one value may stand for many. The func
	// ends the watch and may be called more than once.
	Watch(topic Topic) (<-chan struct{}, func())
	// Now is the time by the engine's clock, which is that of Tx.Now.
	Now() time.Time
	// Tables describes the tables, by name, and returns the number of the schema.
	Tables(ctx context.Context) (tables []Table, schema int, err error)
	// Statements are the texts of the statements that were run, in no order: tests ask how they are executed.
	Statements() []string
	// Compact removes what was deleted from the files, and returns the space to the system. Nothing else may be done with the
	// database meanwhile.
	Compact() error
	// Close waits for the steps that have begun. Other steps fail with [ErrClosed].
	Close() error
}

// Errors of an engine.
var (
	ErrClosed = errors.New("the store is closed")
	// ErrSoft is the error of a soft step that announces something.
	ErrSoft = errors.New("a soft step announces something")
	// ErrLapsed is the error of a step of a process whose lease has ended: it may not write any more.
	ErrLapsed = errors.New("the lease of this host has ended")
	// ErrNewer is the error for a database whose schema this program does not know.
	ErrNewer = errors.New("the database was written by a newer clawhost")
	// ErrUnfinished is the error for a database into which another one was copied, but not to the end.
	ErrUnfinished = errors.New("the database is an unfinished copy of another one: delete it, and copy again into a new one by `clawhost store copy`")
)

// Step is one transaction.
type Step struct {
	// Run does the step. If it returns an error, its writes are undone without affecting other steps. It may run several times, and
	// calls nothing but the transaction.
	Run func(*Tx) error
	// Soft is for writes that must survive the end of the process, but not a power failure. A soft step announces nothing: what it
	// announces is an error.
	Soft bool
	// Unfenced is for a step that runs although this process may not write, such as the one by which it may.
	Unfenced bool
	// Waits are the topics of a step that may find nothing to do, which it says by [Tx.Idle]: it waits, and runs again after a
	// transaction has announced one of them, and when what it has seen is due.
	Waits []Topic
	// Committed, if not nil, is called once the step is committed, before any step returns that shares its transaction, and before
	// the next one begins that could depend on it. It must not call the engine, except for Watch, which then misses nothing that is
	// announced by later transactions.
	Committed func()
}

// Topic names what a transaction may have changed, for those who wait for it.
type Topic string

// Do runs f as a step and returns its result. An error is prefixed by the step's name.
func Do[T any](ctx context.Context, db Engine, name string, f func(*Tx) (T, error)) (T, error) {
	var result T
	err := db.Run(ctx, Step{Run: func(t *Tx) (err error) {
		result, err = f(t)
		return err
	}})
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return result, err
}

// Change is [Do] for a step without a result.
func Change(ctx context.Context, db Engine, name string, f func(*Tx) error) error {
	if err := db.Run(ctx, Step{Run: f}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// ChangeSoftly is [Change] for a soft step.
func ChangeSoftly(ctx context.Context, db Engine, name string, f func(*Tx) error) error {
	if err := db.Run(ctx, Step{Run: f, Soft: true}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
