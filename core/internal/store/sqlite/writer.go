package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// maxBatch bounds the steps that share a transaction, and so a wait for the disk.
const maxBatch = 64

// writer runs all steps on one connection, one after the other. Several connections would starve each other: SQLite has
// one write lock and its waiters poll. Steps that arrive during a transaction share the next.
type writer struct {
	ctx  context.Context // never ends: the result of a begun step is always reported
	conn *connection
	hub  *engine.Hub
	opts Options

	queue    chan *operation
	standing []*operation // used by the loop only
	seen     int64        // used by the loop only: the last reading of the clock
	full     bool         // used by the loop only: transactions wait for the disk
	stop     chan struct{}
	stopped  chan struct{}
}

func startWriter(ctx context.Context, conn *connection, hub *engine.Hub, opts Options) *writer {
	w := &writer{
		ctx:     ctx,
		conn:    conn,
		hub:     hub,
		opts:    opts,
		full:    true,
		queue:   make(chan *operation, maxBatch),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go w.loop()
	return w
}

// close waits for the steps that have begun. It is called once.
func (w *writer) close() {
	close(w.stop)
	<-w.stopped
}

// operation is a step in the writer.
type operation struct {
	engine.Step
	status atomic.Int32 // undecided, begun, left or dropped
	done   chan error   // receives the result of an operation that has begun

	// What it said when it ran last.
	announced []engine.Topic
	idle      bool
	due       int64
}

func newOperation(s engine.Step) *operation { return &operation{Step: s, done: make(chan error, 1)} }

// wants reports whether steps may have left something for an operation that waits.
func (o *operation) wants(announced []engine.Topic) bool {
	return slices.ContainsFunc(o.Waits, func(t engine.Topic) bool { return slices.Contains(announced, t) })
}

const (
	undecided int32 = iota
	begun
	left // begun, and must not wait
	dropped
)

func (o *operation) decide(status int32) bool { return o.status.CompareAndSwap(undecided, status) }

// drop reports whether the operation will never run; otherwise its result follows.
func (o *operation) drop() bool {
	for !o.status.CompareAndSwap(begun, left) {
		if o.decide(dropped) {
			return true
		}
	}
	return false
}

func (w *writer) submit(ctx context.Context, op *operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.queue <- op:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stopped:
		return engine.ErrClosed
	}
	select {
	case err := <-op.done:
		return explained(err)
	case <-ctx.Done():
		if op.drop() {
			return ctx.Err()
		}
	case <-w.stopped:
		if op.drop() {
			return engine.ErrClosed
		}
	}
	if err := <-op.done; !errors.Is(err, errLeft) {
		return explained(err)
	}
	return ctx.Err()
}

// errLeft is the result of an operation that found nothing to do and whose caller has stopped waiting.
var errLeft = errors.New("nothing to do")

func (w *writer) loop() {
	defer close(w.stopped)
	batch := make([]*operation, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case op := <-w.queue:
			batch = append(batch, op)
		case <-w.alarm():
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
		if op := w.setBack(); op != nil {
			batch = slices.Insert(batch, 0, op) // The others use the corrected clock.
		}
		w.commit(slices.DeleteFunc(batch, func(op *operation) bool {
			if op.Waits != nil {
				w.standing = append(w.standing, op) // It runs after the others, and is due.
			}
			return op.Waits != nil || !op.decide(begun)
		}))
	}
}

// alarm fires when the first waiting operation is due, and from time to time before.
func (w *writer) alarm() <-chan time.Time {
	due := int64(0)
	for _, op := range w.standing {
		if op.due != 0 && (due == 0 || op.due < due) {
			due = op.due
		}
	}
	if due == 0 {
		return nil
	}
	return time.After(min(engine.Moment(due).Sub(w.opts.Now()), longestAlarm))
}

// commit runs the batch as one transaction, with the waiting operations that it wakes, and reports each result. Few
// operations return an error, and a savepoint copies all pages that an operation writes: so only after a failure are
// all run again with savepoints, to undo the failed one alone. After some failures, such as a full disk, SQLite rolls
// back the whole transaction; then each operation runs again in its own.
func (w *writer) commit(batch []*operation) {
	ran, outcomes, err := w.transact(batch, false)
	if err != nil && len(ran) > 1 {
		ran, outcomes, err = w.transact(ran, true)
	}
	if err != nil && len(ran) > 1 {
		for _, op := range ran {
			w.commit([]*operation{op})
		}
		return
	}
	for i, op := range ran {
		if err == nil && outcomes[i] == nil && !op.idle {
			w.hub.Announce(op.announced)
			if op.Committed != nil {
				op.Committed()
			}
		}
	}
	for i, op := range ran {
		switch {
		case err != nil:
			op.done <- err
		case outcomes[i] != nil:
			op.done <- outcomes[i]
		case !op.idle:
			op.done <- nil
		case op.status.CompareAndSwap(begun, undecided):
			w.standing = append(w.standing, op)
		default:
			op.done <- errLeft
		}
	}
}

// transact returns the operations that ran, the error that rolled back the transaction and, with savepoints, each
// operation's own error.
func (w *writer) transact(batch []*operation, savepoints bool) (ran []*operation, outcomes []error, err error) {
	if len(batch) == 0 {
		batch = w.woken(nil)
	}
	if len(batch) == 0 {
		return nil, nil, nil
	}
	soft := !slices.ContainsFunc(batch, func(op *operation) bool { return !op.Soft })
	if err := w.syncs(!soft); err != nil {
		return batch, nil, err
	}
	began := time.Now()
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return batch, nil, err
	}
	outcomes = make([]error, len(batch), len(batch)+len(w.standing))
	var announced []engine.Topic
	for i, op := range batch {
		if savepoints {
			outcomes[i], err = w.apply(op)
		} else {
			err = w.run(op)
		}
		if err != nil {
			_ = w.exec("ROLLBACK") // fails if SQLite has rolled back by itself
			return batch, nil, err
		}
		if outcomes[i] == nil {
			announced = append(announced, op.announced...)
		}
	}
	// A failure fails all of them, which are then run again: no savepoint is needed.
	var woken []*operation
	if !soft {
		woken = w.woken(announced)
	}
	ran = append(batch, woken...)
	outcomes = append(outcomes, make([]error, len(woken))...)
	for _, op := range woken {
		if err := w.run(op); err != nil {
			_ = w.exec("ROLLBACK")
			return ran, nil, err
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		_ = w.exec("ROLLBACK")
		return ran, nil, fmt.Errorf("commit: %w", err)
	}
	if !soft {
		w.opts.Metrics.Commit(time.Since(began))
	}
	return ran, outcomes, nil
}

// woken removes the waiting operations that an announcement concerns, or that are due, from the list and returns them.
func (w *writer) woken(announced []engine.Topic) (woken []*operation) {
	now := engine.Millis(w.opts.Now())
	w.standing = slices.DeleteFunc(w.standing, func(op *operation) bool {
		if op.status.Load() == dropped {
			return true
		}
		if !op.wants(announced) && (op.due == 0 || op.due > now) || !op.decide(begun) {
			return false
		}
		woken = append(woken, op)
		return true
	})
	return woken
}

// apply runs an operation within a savepoint. It returns the operation's own error, after undoing its writes, and an
// error that ends the transaction.
func (w *writer) apply(op *operation) (own, failed error) {
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
	t := engine.NewTx(w.ctx, w.conn, engine.Millis(w.opts.Now()))
	err := op.Run(t)
	op.announced = t.Announced()
	if err == nil && op.Soft && len(op.announced) > 0 {
		err = engine.ErrSoft
	}
	op.idle, op.due = t.Idled()
	op.idle = op.idle && err == nil && op.Waits != nil
	return err
}

// syncs makes the next transactions wait for the disk, or not.
func (w *writer) syncs(full bool) error {
	if full == w.full {
		return nil
	}
	mode := "NORMAL" // in WAL mode: a commit is written, and on disk with the next one that waits, or a checkpoint
	if full {
		mode = "FULL"
	}
	if err := w.conn.run("PRAGMA synchronous = " + mode); err != nil {
		return err
	}
	w.full = full
	return nil
}

// exec runs a statement without parameters.
func (w *writer) exec(query string) error {
	_, err := w.conn.Exec(w.ctx, query, nil)
	return err
}
