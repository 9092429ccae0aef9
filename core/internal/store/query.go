package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// preparer is a connection or a pool of them.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements caches prepared statements. Its size is bounded: every query is a constant of this package. SQLite plans a
// statement again each time that a bare parameter of a LIMIT is bound, which takes longer than most statements; LIMIT
// ?1 + 0 avoids that.
type statements struct {
	on preparer

	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

func newStatements(on preparer) *statements {
	return &statements{on: on, prepared: make(map[string]*sql.Stmt)}
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt, ok := s.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := s.on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.prepared[query] = stmt
	return stmt, nil
}

// close closes the statements. If a connection is closed before its statements, it stays open and prevents the
// checkpoint of the write-ahead log.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Close())
	}
	clear(s.prepared)
	return errors.Join(errs...)
}

// querier reads, either in a step's transaction or from committed data.
type querier interface {
	// row scans the first row into dest; without one it returns sql.ErrNoRows.
	row(query string, args []any, dest ...any) error
	// each calls scan for each row, until it returns errEnough.
	each(query string, args []any, scan func(*sql.Rows) error) error
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

// view reads committed data, at the time of each query.
type view struct {
	ctx        context.Context
	statements *statements
}

func (s *Store) view(ctx context.Context) view { return view{ctx: ctx, statements: s.reader} }

func (v view) row(query string, args []any, dest ...any) error {
	stmt, err := v.statements.get(v.ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(v.ctx, args...).Scan(dest...)
}

func (v view) each(query string, args []any, scan func(*sql.Rows) error) error {
	stmt, err := v.statements.get(v.ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(v.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
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
