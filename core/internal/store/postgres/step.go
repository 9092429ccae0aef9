package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const (
	// mostTries bounds how often a step is run that the server has undone because of another one.
	mostTries = 10
	// pollPause is how long a step that waits sleeps at most: announcements may be lost.
	pollPause = 2 * time.Second
)

// Run implements [engine.Engine].
func (db *DB) Run(ctx context.Context, s engine.Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !db.begin() {
		return engine.ErrClosed
	}
	defer db.begun.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(db.closing, func() { cancel(engine.ErrClosed) })()
	if s.Waits == nil {
		_, _, err := db.try(ctx, s)
		return err
	}
	woken, stop := db.hub.Watch(s.Waits...)
	defer stop()
	for {
		idle, due, err := db.try(ctx, s)
		if err != nil || !idle {
			return err
		}
		pause := pollPause
		if due != 0 {
			pause = min(pause, max(0, engine.Moment(due).Sub(db.Now())))
		}
		timer := time.NewTimer(pause)
		select {
		case <-woken:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// try runs a step, again where the server has undone it because of another one. It reports whether the step found nothing to do, and when
// it is due.
func (db *DB) try(ctx context.Context, s engine.Step) (idle bool, due int64, err error) {
	for range mostTries {
		var t *engine.Tx
		t, err = db.once(ctx, s)
		if undone(err) {
			continue
		}
		if err != nil {
			return false, 0, err
		}
		if idle, due = t.Waits(); !idle || s.Waits == nil {
			db.hub.Announce(t.Announced())
			if s.Committed != nil {
				s.Committed()
			}
			return false, 0, nil
		}
		return true, due, nil
	}
	return false, 0, err
}

// undone reports whether the server has undone a transaction because of another one.
func undone(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failed.Code == "40001" || failed.Code == "40P01")
}

// once runs a step in a transaction.
func (db *DB) once(ctx context.Context, s engine.Step) (*engine.Tx, error) {
	var c *pgxpool.Conn
	var now int64
	var xid string
	err := db.bounded(ctx, func(ctx context.Context) (err error) {
		if c, err = db.pool.Acquire(ctx); err == nil {
			now, xid, err = db.open(ctx, c)
		}
		return err
	})
	if c != nil {
		defer c.Release()
	}
	if err != nil {
		db.abandon(c)
		return nil, err
	}
	began := time.Now()
	var t *engine.Tx
	var committing bool
	err = db.bounded(context.WithoutCancel(ctx), func(ctx context.Context) error { // a step that has begun is completed
		t = engine.NewTx(ctx, conn{db, c}, now)
		if err := s.Run(t); err != nil {
			return err
		}
		if s.Soft {
			if _, err := c.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
				return err
			}
		}
		if err := db.publish(ctx, c, t.Announced()); err != nil {
			return err
		}
		committing = true
		_, err := c.Exec(ctx, "COMMIT")
		return err
	})
	if err != nil {
		db.abandon(c)
	}
	if err != nil && committing {
		err = db.outcome(xid, err)
	}
	if err != nil {
		return nil, err
	}
	db.options.Metrics.Commit(time.Since(began))
	return t, nil
}

// open begins a transaction, and returns its time in milliseconds and its id. One transaction at a time may write.
func (db *DB) open(ctx context.Context, c *pgxpool.Conn) (now int64, xid string, err error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for _, setting := range []string{"idle_in_transaction_session_timeout", "statement_timeout"} {
		batch.Queue(fmt.Sprintf("SET LOCAL %s = %d", setting, db.options.Patience.Milliseconds()))
	}
	batch.Queue("SELECT pg_advisory_xact_lock($1)", storeLock)
	batch.Queue("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_current_xact_id()::text").QueryRow(func(row pgx.Row) error {
		return row.Scan(&now, &xid)
	})
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		return 0, "", err
	}
	db.ahead.Store(int64(time.Until(time.UnixMilli(now))))
	if db.options.Now != nil {
		now = engine.Millis(db.options.Now())
	}
	return now, xid, nil
}

// storeLock is the advisory lock of the whole store.
const storeLock int64 = 0x636c6177686f7374 // "clawhost"

// abandon undoes what a connection, if there is one, has begun, or closes it.
func (db *DB) abandon(c *pgxpool.Conn) {
	if c == nil || c.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
		_ = c.Conn().Close(ctx)
	}
}

// outcomePause is the time between two questions what has become of a transaction.
const outcomePause = 50 * time.Millisecond

// outcome asks the server for the outcome of a transaction whose commit got no answer, until that is certain: the commit may still be on its
// way, until the server ends the transaction for standing still.
func (db *DB) outcome(xid string, failed error) error {
	failed = fmt.Errorf("commit: %w", failed)
	if _, answered := errors.AsType[*pgconn.PgError](failed); answered {
		return failed
	}
	ctx, cancel := context.WithTimeout(db.closing, 2*db.options.Patience)
	defer cancel()
	for {
		var status string
		err := db.pool.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", xid).Scan(&status)
		switch {
		case err == nil && status == "committed":
			return nil
		case err == nil && status == "aborted":
			return failed
		}
		select {
		case <-time.After(outcomePause):
		case <-ctx.Done():
			return failed // unknown
		}
	}
}
