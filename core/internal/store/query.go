package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"zombiezen.com/go/sqlite"
)

// querier reads, either in a step's transaction or from committed data.
type querier interface {
	// row scans the first row into dest; without one it returns sql.ErrNoRows.
	row(query string, args []any, dest ...any) error
	// each calls scan for each row, until it returns errEnough.
	each(query string, args []any, scan func(rows) error) error
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

// view reads committed data, at the time of each query.
type view struct {
	ctx  context.Context
	from connections
}

// connections are where a view gets its connection from.
type connections interface {
	take(ctx context.Context) (*connection, error)
	give(c *connection)
}

// only is a connection that nothing else uses.
type only struct{ *connection }

func (o only) take(context.Context) (*connection, error) { return o.connection, nil }

func (only) give(*connection) {}

func (s *Store) view(ctx context.Context) view { return view{ctx: ctx, from: s.readers} }

func (v view) row(query string, args []any, dest ...any) error {
	found := false
	err := v.each(query, args, func(r rows) error {
		found = true
		if err := r.Scan(dest...); err != nil {
			return err
		}
		return errEnough
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

func (v view) each(query string, args []any, scan func(rows) error) error {
	c, err := v.from.take(v.ctx)
	if err != nil {
		return err
	}
	defer v.from.give(c)
	r, err := c.query(query, args)
	if err != nil {
		return v.failed(err)
	}
	defer r.close()
	for {
		switch more, err := r.next(); {
		case err != nil:
			return v.failed(err)
		case !more:
			return nil
		}
		if err := scan(r); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// failed returns the error of the context in place of that of a statement that it has interrupted.
func (v view) failed(err error) error {
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt && v.ctx.Err() != nil {
		return v.ctx.Err()
	}
	return err
}

// millis converts a time for a column.
func millis(t time.Time) int64 { return t.UnixMilli() }

// moment converts a column's time. NULL, scanned as 0, is the zero time.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// noRows turns the error of a missing row into nil.
func noRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
