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
	// longestAlarm bounds how long a step that waits sleeps before it looks at the clock again.
	longestAlarm = time.Minute
	// outcomePause is the time between two looks at the outcome of a commit.
	outcomePause = 50 * time.Millisecond
	// storeLock is the advisory lock of the whole store.
	storeLock int64 = 0x636c6177686f7374 // "clawhost"
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
		pause := longestAlarm
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
			return db.ended(ctx)
		}
	}
}

// try runs a step, again where the server has undone it because of another one. It reports whether the step found nothing to do, and when
// it is due. One step of this process at a time runs, until it is announced: so the next one finds what Committed has done.
func (db *DB) try(ctx context.Context, s engine.Step) (idle bool, due int64, err error) {
	select {
	case db.turn <- struct{}{}:
	case <-ctx.Done():
		return false, 0, db.ended(ctx)
	}
	defer func() { <-db.turn }()
	for range mostTries {
		var t *engine.Tx
		t, err = db.once(ctx, s)
		if undone(err) {
			continue
		}
		if err != nil {
			return false, 0, err
		}
		if idle, due = t.Idled(); !idle || s.Waits == nil {
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
	err := db.bounded(ctx, func(ctx context.Context) (err error) {
		if c, err = db.pool.Acquire(ctx); err == nil {
			now, err = db.open(ctx, c, s.Unfenced)
		}
		return err
	})
	if err != nil {
		db.release(c, err)
		return nil, err
	}
	began := time.Now()
	var t *engine.Tx
	var xid string                                                                 // empty: nothing was written, or the commit was not sent
	err = db.bounded(context.WithoutCancel(ctx), func(ctx context.Context) error { // a step that has begun is completed
		t = engine.NewTx(ctx, conn{db, c}, now)
		if err := s.Run(t); err != nil {
			return err
		}
		if s.Soft && len(t.Announced()) > 0 {
			return engine.ErrSoft
		}
		written, err := db.prepare(ctx, c, s.Soft, t.Announced())
		if err != nil {
			return err
		}
		xid = written
		_, err = c.Exec(ctx, "COMMIT")
		return err
	})
	db.release(c, err)
	if err != nil && xid != "" {
		err = db.outcome(xid, err)
	}
	if err != nil {
		return nil, err
	}
	if idle, _ := t.Idled(); !s.Soft && !(idle && s.Waits != nil) {
		db.options.Metrics.Commit(time.Since(began))
	}
	return t, nil
}

// open begins a transaction, and returns its time in milliseconds. One transaction at a time may write.
func (db *DB) open(ctx context.Context, c *pgxpool.Conn, unfenced bool) (now int64, err error) {
	allowed := unfenced || db.options.Fence == ""
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED") // each statement sees what was committed before it, and so after the lock
	for _, setting := range []string{"idle_in_transaction_session_timeout", "statement_timeout"} {
		batch.Queue(fmt.Sprintf("SET LOCAL %s = %d", setting, db.options.Patience.Milliseconds()))
	}
	batch.Queue("SELECT pg_advisory_xact_lock($1)", storeLock)
	batch.Queue("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	if !allowed { // looked at after the lock: nobody takes the lease away before the transaction ends
		batch.Queue(db.options.Fence, db.options.FencedBy).Query(func(rows pgx.Rows) error {
			allowed = rows.Next()
			return rows.Err()
		})
	}
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		return 0, err
	}
	if !allowed {
		return 0, engine.ErrLapsed
	}
	db.ahead.Store(int64(time.Until(time.UnixMilli(now))))
	if db.options.Now != nil {
		now = engine.Millis(db.options.Now())
	}
	return now, nil
}

// prepare does what comes before a commit. It returns the id of the transaction; empty: it has written nothing.
func (db *DB) prepare(ctx context.Context, c *pgxpool.Conn, soft bool, topics []engine.Topic) (xid string, err error) {
	batch := &pgx.Batch{}
	if soft {
		batch.Queue("SET LOCAL synchronous_commit = off")
	}
	if len(topics) > 0 {
		batch.Queue("SELECT pg_notify($1, $2)", announcements, db.announcement(topics))
	}
	batch.Queue("SELECT COALESCE(pg_current_xact_id_if_assigned()::text, '')").QueryRow(func(row pgx.Row) error { return row.Scan(&xid) })
	return xid, c.SendBatch(ctx, batch).Close()
}

// release gives a connection, if there is one, back to the pool. After an error it undoes what was begun, or closes the connection.
func (db *DB) release(c *pgxpool.Conn, failed error) {
	if c == nil {
		return
	}
	defer c.Release()
	if failed == nil || c.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
		_ = c.Conn().Close(ctx)
	}
}

// outcome asks the server whether a transaction was committed whose commit has failed, unless the server itself has said so. It asks
// until that is certain: the commit may still be on its way, until the server ends the transaction because it stands still. Where it
// remains unknown, the step fails, and all who wait look again.
func (db *DB) outcome(xid string, failed error) error {
	failed = fmt.Errorf("commit: %w", failed)
	// A pooler that has lost the server says so with another severity.
	if said, ok := errors.AsType[*pgconn.PgError](failed); ok && said.Severity == "ERROR" {
		return failed
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*db.options.Patience)
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
			db.hub.AnnounceAll()
			return failed
		}
	}
}
