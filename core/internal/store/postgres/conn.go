package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// queries runs statements on a connection, or on the pool.
type queries interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

// conn is what a transaction runs on. It is an [engine.Conn].
type conn struct {
	db *DB
	on queries
}

// pooled reads on any connection. It is an [engine.Reader].
type pooled struct{ db *DB }

// Query implements [engine.Reader].
func (p pooled) Query(ctx context.Context, query string, args []any, scan func(engine.Rows) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.db.begin() {
		return engine.ErrClosed
	}
	defer p.db.begun.Done()
	return p.db.bounded(ctx, func(ctx context.Context) error { return conn{p.db, p.db.pool}.Query(ctx, query, args, scan) })
}

// ended returns why a step or a view has ended whose context has.
func (db *DB) ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), engine.ErrClosed) {
		return engine.ErrClosed
	}
	return ctx.Err()
}

// bounded runs f, for as long as the server may take. The error is that of ctx where this has ended.
func (db *DB) bounded(ctx context.Context, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, db.options.Patience)
	defer cancel()
	err := f(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return db.ended(ctx)
	case limited.Err() != nil:
		return fmt.Errorf("%w: it did not answer within %s: %w", errBroken, db.options.Patience, err)
	case broken(err):
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return err
}

// Query implements [engine.Conn].
func (c conn) Query(ctx context.Context, query string, args []any, scan func(engine.Rows) error) error {
	values, err := bind(args)
	if err != nil {
		return err
	}
	found, err := c.on.Query(ctx, c.db.text(query), values...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := scan(rows{found}); err != nil {
			return err
		}
	}
	return found.Err()
}

// Exec implements [engine.Conn].
func (c conn) Exec(ctx context.Context, query string, args []any) (int64, error) {
	values, err := bind(args)
	if err != nil {
		return 0, err
	}
	tag, err := c.on.Exec(ctx, c.db.text(query), values...)
	return tag.RowsAffected(), err
}

var parameter = lazyregexp.New(`\?(\d+)`)

// text returns a statement as PostgreSQL reads it: its parameters are $1, $2 and so on. The number of texts is bounded: every one is a
// constant.
func (db *DB) text(query string) string {
	if known, ok := db.texts.Load(query); ok {
		return known.(string)
	}
	text := parameter().ReplaceAllString(query, "$$$1")
	db.texts.Store(query, text)
	return text
}

// truth is a bool for a column of numbers, or for a condition.
type truth bool

// BoolValue implements [pgtype.BoolValuer].
func (t truth) BoolValue() (pgtype.Bool, error) { return pgtype.Bool{Bool: bool(t), Valid: true}, nil }

// Int64Value implements [pgtype.Int64Valuer].
func (t truth) Int64Value() (pgtype.Int8, error) {
	if t {
		return pgtype.Int8{Int64: 1, Valid: true}, nil
	}
	return pgtype.Int8{Valid: true}, nil
}

// bind returns the arguments as pgx takes them.
func bind(args []any) ([]any, error) {
	values := make([]any, len(args))
	for i, arg := range args {
		value, err := bindOne(arg)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

func bindOne(arg any) (any, error) {
	switch a := arg.(type) {
	case nil, int64, []byte:
		return a, nil
	case string:
		return storable(a), nil
	case bool:
		return truth(a), nil
	case driver.Valuer:
		value, err := a.Value()
		if err != nil {
			return nil, err
		}
		return bindOne(value)
	}
	switch v := reflect.ValueOf(arg); {
	case v.Kind() == reflect.String:
		return storable(v.String()), nil
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), nil
	case v.Kind() == reflect.Bool:
		return truth(v.Bool()), nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return v.Bytes(), nil
	}
	return nil, fmt.Errorf("no column holds a %T", arg)
}

// storable returns a text without what PostgreSQL does not store: NUL, and bytes that are no UTF-8.
func storable(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// rows are the results of a statement in progress. They are [engine.Rows].
type rows struct{ pgx.Rows }

// Scan implements [engine.Rows].
func (r rows) Scan(dest ...any) error {
	into := make([]any, len(dest))
	for i, d := range dest {
		if v := reflect.ValueOf(d).Elem(); v.Kind() == reflect.Bool {
			d = asTruth{v}
		}
		into[i] = d
	}
	return r.Rows.Scan(into...)
}

// asTruth takes a number, or a condition, as a bool.
type asTruth struct{ of reflect.Value }

var errNull = errors.New("NULL in place of a truth")

// ScanBool implements [pgtype.BoolScanner].
func (a asTruth) ScanBool(v pgtype.Bool) error {
	if !v.Valid {
		return errNull
	}
	a.of.SetBool(v.Bool)
	return nil
}

// ScanInt64 implements [pgtype.Int64Scanner].
func (a asTruth) ScanInt64(v pgtype.Int8) error {
	if !v.Valid {
		return errNull
	}
	a.of.SetBool(v.Int64 != 0)
	return nil
}
