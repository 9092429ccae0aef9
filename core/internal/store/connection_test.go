package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// openConnection returns a view of a new database.
func openConnection(t *testing.T) view {
	t.Helper()
	c, err := connect(filepath.Join(t.TempDir(), "clawhost.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return view{ctx: t.Context(), from: only{c}}
}

func TestValuesOfColumns(t *testing.T) {
	t.Parallel()
	v := openConnection(t)
	same := func(name string, arg, dest any, want any, got func() any) {
		t.Helper()
		if err := v.row("SELECT ?1", []any{arg}, dest); err != nil || got() != want {
			t.Errorf("%s: %v, %v; want %v", name, got(), err, want)
		}
	}
	var text string
	for _, s := range []string{"", "héllo", "a\x00b", "\xff", "'"} {
		same("text", s, &text, s, func() any { return text })
	}
	var id chat.ID
	same("a named string", chat.ID("anna"), &id, chat.ID("anna"), func() any { return id })
	var kind chat.Kind
	same("a named number", chat.Group, &kind, chat.Group, func() any { return kind })
	var n int64
	for _, i := range []int64{0, -1, math.MaxInt64, math.MinInt64} {
		same("a number", i, &n, i, func() any { return n })
	}
	var u uint64
	same("an unsigned number", uint64(math.MaxInt64), &u, uint64(math.MaxInt64), func() any { return u })
	var yes bool
	same("a boolean", true, &yes, true, func() any { return yes })
	var perhaps sql.NullInt64
	same("a number that may be missing", sql.NullInt64{Int64: 7, Valid: true}, &perhaps, sql.NullInt64{Int64: 7, Valid: true}, func() any { return perhaps })
	same("a missing number", sql.NullInt64{}, &perhaps, sql.NullInt64{}, func() any { return perhaps })
	same("nothing", nil, &perhaps, sql.NullInt64{}, func() any { return perhaps })
	var data []byte
	for _, b := range [][]byte{nil, {}, {0, 1, 255}} {
		if err := v.row("SELECT ?1", []any{b}, &data); err != nil || !bytes.Equal(data, b) {
			t.Errorf("bytes: %v, %v; want %v", data, err, b)
		}
	}
}

// What does not fit is an error, and not zero.
func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	v := openConnection(t)
	for name, query := range map[string]string{"NULL": "SELECT NULL", "text": "SELECT 'seven'", "a fraction": "SELECT 7.5"} {
		n := int64(-1)
		if err := v.row(query, nil, &n); err == nil || n != -1 {
			t.Errorf("%s as a number is %d", name, n)
		}
		yes := false
		if err := v.row(query, nil, &yes); err == nil {
			t.Errorf("%s as a boolean is %v", name, yes)
		}
	}
	var text string
	if err := v.row("SELECT NULL", nil, &text); err == nil {
		t.Error("NULL is a text")
	}
	var u uint64
	if err := v.row("SELECT -1", nil, &u); err == nil {
		t.Errorf("-1 is %d", u)
	}
	for _, arg := range []any{uint64(math.MaxUint64), 7.5, struct{}{}, []string{"a"}} {
		if err := v.row("SELECT ?1", []any{arg}, &text); err == nil {
			t.Errorf("%T is taken as %q", arg, text)
		}
	}
	if err := v.row("SELECT 1 WHERE 0", nil, &text); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
}

// A statement that was left, failed or interrupted can be used again.
func TestStatementsAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	const query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000) SELECT ABS(?1 - i) FROM n"
	first := func(arg any) error {
		var n int64
		return s.view(t.Context()).row(query, []any{arg}, &n)
	}
	if err := first(7); err != nil {
		t.Error(err)
	}
	if err := first(math.MinInt64); err == nil { // ABS overflows, or the value is no number any more
		t.Error("a statement that should fail does not")
	}
	ctx, cancel := context.WithCancel(t.Context())
	rowsRead := 0
	err := s.view(ctx).each(query, []any{7}, func(rows) error {
		if rowsRead++; rowsRead == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || rowsRead == 10_000_000 {
		t.Errorf("interrupted after %d rows: %v", rowsRead, err)
	}
	if err := s.view(ctx).row("SELECT 1", nil, new(int64)); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if err := first(8); err != nil {
		t.Errorf("after an interruption: %v", err)
	}
}

// More readers than connections take turns, also if a reader reads while it reads.
func TestReadersTakeTurns(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	done := make(chan error)
	const n = 4 * maxReaders
	for range n {
		go func() { done <- s.view(t.Context()).row("SELECT COUNT(*) FROM sessions", nil, new(int64)) }()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := len(s.readers.places); got != 0 {
		t.Errorf("%d connections are still in use", got)
	}
	err := s.view(t.Context()).each("SELECT 1", nil, func(rows) error {
		return s.view(t.Context()).row("SELECT 2", nil, new(int64))
	})
	if err != nil {
		t.Errorf("a reader within a reader: %v", err)
	}
}
