package sqlite

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// SQLite keeps any text, and says what a fraction is.
func TestOddValuesOfColumns(t *testing.T) {
	t.Parallel()
	read := openTest(t).View(t.Context())
	for _, want := range []string{"a\x00b", "\xff"} {
		var got string
		if err := read.Row("SELECT ?1", []any{want}, &got); err != nil || got != want {
			t.Errorf("%q is %q, %v", want, got, err)
		}
	}
	n := int64(-1)
	if err := read.Row("SELECT 7.5", nil, &n); err == nil || n != -1 {
		t.Errorf("a fraction is %d", n)
	}
	if err := read.Row("SELECT ?1", []any{7.5}, &n); err == nil {
		t.Errorf("a fraction is taken as %d", n)
	}
}

// A statement that was left, failed or interrupted can be used again.
func TestStatementsAreUsedAgain(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	const query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000) SELECT ABS(?1 - i) FROM n"
	first := func(arg any) error {
		var n int64
		return db.View(t.Context()).Row(query, []any{arg}, &n)
	}
	if err := first(7); err != nil {
		t.Error(err)
	}
	if err := first(math.MinInt64); err == nil { // ABS overflows, or the value is no number any more
		t.Error("a statement that should fail does not")
	}
	ctx, cancel := context.WithCancel(t.Context())
	rowsRead := 0
	err := db.View(ctx).Each(query, []any{7}, func(engine.Rows) error {
		if rowsRead++; rowsRead == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || rowsRead == 10_000_000 {
		t.Errorf("interrupted after %d rows: %v", rowsRead, err)
	}
	if err := db.View(ctx).Row("SELECT 1", nil, new(int64)); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if err := first(8); err != nil {
		t.Errorf("after an interruption: %v", err)
	}
}

// More readers than connections take turns, also if a reader reads while it reads.
func TestReadersTakeTurns(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	done := make(chan error)
	const n = 4 * maxReaders
	for range n {
		go func() { done <- db.View(t.Context()).Row("SELECT COUNT(*) FROM things", nil, new(int64)) }()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := len(db.readers.places); got != 0 {
		t.Errorf("%d connections are still in use", got)
	}
	err := db.View(t.Context()).Each("SELECT 1", nil, func(engine.Rows) error {
		return db.View(t.Context()).Row("SELECT 2", nil, new(int64))
	})
	if err != nil {
		t.Errorf("a reader within a reader: %v", err)
	}
}
