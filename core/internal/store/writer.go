package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// maxBatch is how many steps share a transaction, and so a wait for the disk, at most.
const maxBatch = 64

var errClosed = errors.New("the store is closed")

// step runs f in a transaction that is on disk when step returns nil. When f returns an error, nothing that f wrote
// stays, and the steps that share the transaction are not harmed. f may run twice.
func step[T any](ctx context.Context, s *Store, name string, f func(*tx) (T, error)) (T, error) {
	var result T
	err := s.writer.submit(ctx, func(t *tx) (err error) {
		result, err = f(t)
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return result, err
}

// nothing is the result of a step that has none.
type nothing struct{}

// writer runs all steps on one connection, one after the other. Several connections would starve each other: SQLite has
// one write lock and its waiters poll. The steps that wait while a transaction is being written share the next.
type writer struct {
	ctx        context.Context // never ends: a step that has begun is told its outcome
	conn       *sql.Conn
	statements *statements
	now        func() time.Time
	notify     *notifier

	queue   chan *operation
	stop    chan struct{}
	stopped chan struct{}
}

func startWriter(ctx context.Context, conn *sql.Conn, now func() time.Time, notify *notifier) *writer {
	w := &writer{
		ctx:        ctx,
		conn:       conn,
		statements: newStatements(conn),
		now:        now,
		notify:     notify,
		queue:      make(chan *operation, maxBatch),
		stop:       make(chan struct{}),
		stopped:    make(chan struct{}),
	}
	go w.loop()
	return w
}

// close waits for the steps that have begun. It is called once.
func (w *writer) close() error {
	close(w.stop)
	<-w.stopped
	return errors.Join(w.statements.close(), w.conn.Close())
}

// operation is a step on its way through the writer.
type operation struct {
	run   func(*tx) error
	fate  atomic.Int32 // undecided, begun or dropped
	done  chan error   // gets the outcome of an operation that has begun
	after effects
}

const (
	undecided int32 = iota
	begun
	dropped
)

func (o *operation) decide(fate int32) bool { return o.fate.CompareAndSwap(undecided, fate) }

func (w *writer) submit(ctx context.Context, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := &operation{run: run, done: make(chan error, 1)}
	select {
	case w.queue <- op:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stopped:
		return errClosed
	}
	select {
	case err := <-op.done:
		return err
	case <-ctx.Done():
		if op.decide(dropped) {
			return ctx.Err()
		}
	case <-w.stopped:
		if op.decide(dropped) {
			return errClosed
		}
	}
	return <-op.done
}

func (w *writer) loop() {
	defer close(w.stopped)
	batch := make([]*operation, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case op := <-w.queue:
			batch = append(batch, op)
		case <-w.stop:
			return
		}
	fill:
		for len(batch) < maxBatch {
			select {
			case op := <-w.queue:
				batch = append(batch, op)
			default:
				break fill
			}
		}
		batch = slices.DeleteFunc(batch, func(op *operation) bool { return !op.decide(begun) })
		if len(batch) > 0 {
			w.commit(batch)
		}
	}
}

// commit runs the batch as one transaction and tells each operation its outcome. An operation that returns an error is
// undone alone. After some failures, such as a full disk, SQLite rolls the whole transaction back by itself; then each
// operation is run again in one of its own.
func (w *writer) commit(batch []*operation) {
	outcomes, err := w.transact(batch)
	if err != nil && len(batch) > 1 {
		for _, op := range batch {
			w.commit([]*operation{op})
		}
		return
	}
	for i, op := range batch {
		switch {
		case err != nil:
			op.done <- err
		case outcomes[i] != nil:
			op.done <- outcomes[i]
		default:
			w.notify.fire(op.after)
			op.done <- nil
		}
	}
}

// transact returns each operation's own error, or the one for which the transaction was rolled back.
func (w *writer) transact(batch []*operation) ([]error, error) {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	outcomes := make([]error, len(batch))
	for i, op := range batch {
		var err error
		if outcomes[i], err = w.apply(op, len(batch) > 1); err != nil {
			_ = w.exec("ROLLBACK") // fails where SQLite has rolled back by itself
			return nil, err
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		_ = w.exec("ROLLBACK")
		return nil, fmt.Errorf("commit: %w", err)
	}
	return outcomes, nil
}

// apply runs an operation within the transaction. It returns the operation's own error, whose writes are undone, and the
// one for which the transaction cannot go on. One that does not share the transaction needs no savepoint: it is undone
// with it.
func (w *writer) apply(op *operation, shares bool) (own, failed error) {
	if !shares {
		return nil, w.run(op)
	}
	if err := w.exec("SAVEPOINT step"); err != nil {
		return nil, err
	}
	if own = w.run(op); own != nil {
		if err := w.exec("ROLLBACK TO step"); err != nil {
			return nil, fmt.Errorf("%w (and then: %w)", own, err)
		}
	}
	return own, w.exec("RELEASE step")
}

// run runs an operation.
func (w *writer) run(op *operation) error {
	t := &tx{view: view{ctx: w.ctx, statements: w.statements}, now: millis(w.now())}
	err := op.run(t)
	op.after = t.after
	return err
}

func (w *writer) exec(query string) error {
	stmt, err := w.statements.get(w.ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(w.ctx)
	return err
}

// tx is the transaction of one step.
type tx struct {
	view
	now   int64
	after effects
}

// exec returns the number of rows that it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	stmt, err := t.statements.get(t.ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
