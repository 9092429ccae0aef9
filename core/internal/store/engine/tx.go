package engine

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Rows are the results of a query in progress.
type Rows interface {
	// Scan copies the columns of the current row into pointers: to strings, integers, bools, or named types of these, to []byte, or
	// to a [sql.Scanner]. NULL needs the latter.
	Scan(dest ...any) error
}

// Reader runs queries. An engine implements it.
type Reader interface {
	// Query calls scan for each row, until it returns an error, which Query returns.
	Query(ctx context.Context, query string, args []any, scan func(Rows) error) error
}

// Conn runs the statements of a transaction. An engine implements it. Parameters are written ?1, ?2 and so on; arguments are nil, strings,
// integers, bools, or named types of these, []byte, or a [database/sql/driver.Valuer].
type Conn interface {
	Reader
	// Exec returns the number of changed rows.
	Exec(ctx context.Context, query string, args []any) (int64, error)
}

// Querier reads, either in a step's transaction or from committed data.
type Querier interface {
	// Row scans the first row into dest; without one it returns [sql.ErrNoRows].
	Row(query string, args []any, dest ...any) error
	// Each calls scan for each row, until it returns an error, which Each returns unless it is [ErrEnough].
	Each(query string, args []any, scan func(Rows) error) error
}

// ErrEnough ends the reading of rows.
var ErrEnough = errors.New("enough")

// View is a [Querier].
type View struct {
	ctx  context.Context
	from Reader
}

// NewView returns a view that reads from a reader until ctx ends. An engine calls it.
func NewView(ctx context.Context, from Reader) View { return View{ctx, from} }

// Row implements [Querier].
func (v View) Row(query string, args []any, dest ...any) error {
	found := false
	err := v.Each(query, args, func(r Rows) error {
		found = true
		if err := r.Scan(dest...); err != nil {
			return err
		}
		return ErrEnough
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// Each implements [Querier].
func (v View) Each(query string, args []any, scan func(Rows) error) error {
	if err := v.from.Query(v.ctx, query, args, scan); !errors.Is(err, ErrEnough) {
		return err
	}
	return nil
}

// Tx is the transaction of one step.
type Tx struct {
	View
	Now int64 // in milliseconds, by the engine's clock

	conn      Conn
	announced []Topic
	idle      bool
	due       int64
}

// NewTx returns the transaction of a step at a time. An engine calls it.
func NewTx(ctx context.Context, conn Conn, now int64) *Tx {
	return &Tx{View: NewView(ctx, conn), Now: now, conn: conn}
}

// Exec returns the number of changed rows.
func (t *Tx) Exec(query string, args ...any) (int64, error) { return t.conn.Exec(t.ctx, query, args) }

// Announce says what the transaction changes.
func (t *Tx) Announce(topics ...Topic) { t.announced = append(t.announced, topics...) }

// Announced returns what was announced. An engine calls it, when the step has run.
func (t *Tx) Announced() []Topic { return t.announced }

// Idle says that the step found nothing to do, and when it is to run again, in milliseconds; zero: unknown. It concerns only
// steps that wait.
func (t *Tx) Idle(due int64) { t.idle, t.due = true, due }

// Idled reports what Idle was told. An engine calls it, when the step has run.
func (t *Tx) Idled() (idle bool, due int64) { return t.idle, t.due }

// Millis converts a time for a column.
func Millis(t time.Time) int64 { return t.UnixMilli() }

// Moment converts a column's time. NULL, scanned as 0, is the zero time.
func Moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// NoRows turns the error of a missing row into nil.
func NoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
