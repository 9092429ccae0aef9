// Package enginetest is what every engine must do, as tests.
package enginetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Schema makes the table that the tests use, but for the type of its column for bytes, which engines name differently.
const Schema = `CREATE TABLE things (key TEXT PRIMARY KEY, word TEXT, n BIGINT, data %s)`

// ready is the topic of the tests.
const ready engine.Topic = "ready"

// Run tests an engine: open opens an empty database with the table of [Schema].
func Run(t *testing.T, open func(t *testing.T) engine.Engine) {
	for name, test := range map[string]func(*testing.T, engine.Engine){
		"a failing step is undone alone":          failingStep,
		"a context ends a step":                   contextEnds,
		"a step that has begun tells its outcome": begunStep,
		"closing answers every step":              closing,
		"soft steps announce nothing":             softSteps,
		"committed data is read":                  committedData,
		"values come back":                        values,
		"what does not fit is an error":           misfits,
		"announcements follow the commit":         announcements,
		"a waiting step runs when it is woken":    woken,
		"a waiting step fails alone":              failingWait,
		"a waiting step is abandoned":             abandoned,
		"closing ends waiting steps":              closedWait,
		"a waiting step runs when it is due":      due,
		"steps exclude each other":                counting,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Put writes a key.
func Put(t *engine.Tx, key string) error {
	_, err := t.Exec(`INSERT INTO things (key) VALUES (?1)`, key)
	return err
}

// Keys returns the keys that are committed, in order.
func Keys(t *testing.T, db engine.Engine) (keys []string) {
	t.Helper()
	err := db.View(context.WithoutCancel(t.Context())).Each(`SELECT key FROM things ORDER BY key`, nil, func(rows engine.Rows) error {
		var key string
		defer func() { keys = append(keys, key) }()
		return rows.Scan(&key)
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func put(t *testing.T, db engine.Engine, key string, topics ...engine.Topic) {
	t.Helper()
	if err := engine.Change(t.Context(), db, "put", func(t *engine.Tx) error {
		t.Announce(topics...)
		return Put(t, key)
	}); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func failingStep(t *testing.T, db engine.Engine) {
	refused := errors.New("refused")
	const steps, bad = 20, 7
	var all sync.WaitGroup
	for n := range steps {
		all.Go(func() {
			err := engine.Change(t.Context(), db, "step", func(tx *engine.Tx) error {
				err := Put(tx, fmt.Sprintf("%02d", n))
				if n == bad {
					err = refused
				}
				return err
			})
			if (n == bad) != errors.Is(err, refused) || n != bad && err != nil {
				t.Errorf("step %d: %v", n, err)
			}
		})
	}
	all.Wait()
	var want []string
	for n := range steps {
		if n != bad {
			want = append(want, fmt.Sprintf("%02d", n))
		}
	}
	same(t, Keys(t, db), want...)
	if err := engine.Change(t.Context(), db, "twice", func(tx *engine.Tx) error {
		return errors.Join(Put(tx, "new"), Put(tx, "00"))
	}); err == nil {
		t.Error("a key was written twice")
	}
	same(t, Keys(t, db), want...)
}

func contextEnds(t *testing.T, db engine.Engine) {
	other := errors.New("another reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(other)
	err := engine.Change(ctx, db, "late", func(tx *engine.Tx) error { return Put(tx, "late") })
	if !errors.Is(err, context.Canceled) || errors.Is(err, other) {
		t.Errorf("got %v", err)
	}
	if err := db.View(ctx).Row(`SELECT COUNT(*) FROM things`, nil, new(int)); !errors.Is(err, context.Canceled) || errors.Is(err, other) {
		t.Errorf("a view: %v", err)
	}
	soon, cancelSoon := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelSoon()
	err = db.Run(soon, engine.Step{Waits: []engine.Topic{ready}, Run: func(tx *engine.Tx) error {
		tx.Idle(0)
		return nil
	}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a step that waits: %v", err)
	}
	same(t, Keys(t, db))
}

func softSteps(t *testing.T, db engine.Engine) {
	if err := engine.ChangeSoftly(t.Context(), db, "soft", func(tx *engine.Tx) error { return Put(tx, "soft") }); err != nil {
		t.Error(err)
	}
	if err := engine.ChangeSoftly(t.Context(), db, "loud", func(tx *engine.Tx) error {
		tx.Announce(ready)
		return Put(tx, "loud")
	}); !errors.Is(err, engine.ErrSoft) {
		t.Errorf("a soft step that announces something: %v", err)
	}
	same(t, Keys(t, db), "soft")
}

func begunStep(t *testing.T, db engine.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := engine.Change(ctx, db, "begun", func(tx *engine.Tx) error {
		cancel()
		return Put(tx, "begun")
	}); err != nil {
		t.Errorf("got %v", err)
	}
	same(t, Keys(t, db), "begun")
}

func closing(t *testing.T, db engine.Engine) {
	const steps = 100
	var all sync.WaitGroup
	for n := range steps {
		all.Go(func() {
			if err := engine.Change(t.Context(), db, "step", func(tx *engine.Tx) error { return Put(tx, fmt.Sprint(n)) }); err != nil && !errors.Is(err, engine.ErrClosed) {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if err := engine.Change(t.Context(), db, "after", func(tx *engine.Tx) error { return Put(tx, "after") }); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a step after the end: %v", err)
	}
}

func committedData(t *testing.T, db engine.Engine) {
	put(t, db, "a")
	if err := engine.Change(t.Context(), db, "write", func(tx *engine.Tx) error {
		if err := Put(tx, "b"); err != nil {
			return err
		}
		same(t, Keys(t, db), "a")
		var n int
		if err := tx.Row(`SELECT COUNT(*) FROM things`, nil, &n); err != nil || n != 2 {
			t.Errorf("the step sees %d rows, %v", n, err)
		}
		changed, err := tx.Exec(`UPDATE things SET n = ?1 WHERE key != ?2`, 7, "b")
		if err == nil && changed != 1 {
			err = fmt.Errorf("%d rows were changed", changed)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	same(t, Keys(t, db), "a", "b")
	view, read := db.View(t.Context()), 0
	err := view.Each(`SELECT key FROM things ORDER BY key`, nil, func(engine.Rows) error {
		read++
		return engine.ErrEnough
	})
	if err != nil || read != 1 {
		t.Errorf("read %d rows: %v", read, err)
	}
	if err := view.Row(`SELECT key FROM things WHERE key = ?1`, []any{"c"}, new(string)); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
	broken := errors.New("broken")
	if err := view.Each(`SELECT key FROM things`, nil, func(engine.Rows) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// writeThenRead writes a value to a column of a new row and reads it again.
func writeThenRead(ctx context.Context, db engine.Engine, column string, arg, dest any) error {
	return db.Run(ctx, engine.Step{Run: func(tx *engine.Tx) error {
		if _, err := tx.Exec(`DELETE FROM things`); err != nil {
			return err
		}
		return tx.Row(`INSERT INTO things (key, `+column+`) VALUES ('k', ?1) RETURNING `+column, []any{arg}, dest)
	}})
}

func values(t *testing.T, db engine.Engine) {
	check := func(column string, arg, dest, want any, got func() any) {
		t.Helper()
		if err := writeThenRead(t.Context(), db, column, arg, dest); err != nil || got() != want {
			t.Errorf("%T %v: %v, %v; want %v", arg, arg, got(), err, want)
		}
	}
	var text string
	for _, s := range []string{"", "héllo", "'", "?1", "a\nb"} {
		check("word", s, &text, s, func() any { return text })
	}
	var id chat.ID
	check("word", chat.ID("anna"), &id, chat.ID("anna"), func() any { return id })
	var kind chat.Kind
	check("n", chat.Group, &kind, chat.Group, func() any { return kind })
	var n int64
	for _, i := range []int64{0, -1, math.MaxInt64, math.MinInt64} {
		check("n", i, &n, i, func() any { return n })
	}
	var small int
	check("n", 7, &small, 7, func() any { return small })
	var u uint64
	check("n", uint64(math.MaxInt64), &u, uint64(math.MaxInt64), func() any { return u })
	var yes bool
	check("n", true, &yes, true, func() any { return yes })
	check("n", false, &yes, false, func() any { return yes })
	var perhaps sql.NullInt64
	check("n", sql.NullInt64{Int64: 7, Valid: true}, &perhaps, sql.NullInt64{Int64: 7, Valid: true}, func() any { return perhaps })
	check("n", sql.NullInt64{}, &perhaps, sql.NullInt64{}, func() any { return perhaps })
	check("n", nil, &perhaps, sql.NullInt64{}, func() any { return perhaps })
	var word sql.NullString
	check("word", nil, &word, sql.NullString{}, func() any { return word })
	check("word", sql.NullString{String: "w", Valid: true}, &word, sql.NullString{String: "w", Valid: true}, func() any { return word })
	for _, b := range [][]byte{{}, {0, 1, 255}} {
		var data []byte
		if err := writeThenRead(t.Context(), db, "data", b, &data); err != nil || !bytes.Equal(data, b) {
			t.Errorf("bytes: %v, %v; want %v", data, err, b)
		}
	}
	if err := db.View(t.Context()).Row(`SELECT EXISTS (SELECT 1 FROM things), COUNT(*) FROM things`, nil, &yes, &small); err != nil || !yes || small != 1 {
		t.Errorf("a truth and a count: %v, %v, %v", yes, small, err)
	}
}

// misfits tests that what does not fit is an error, and not zero.
func misfits(t *testing.T, db engine.Engine) {
	n, yes, text, u := int64(-1), false, "", uint64(0)
	for name, misfit := range map[string]struct {
		column    string
		arg, dest any
	}{
		"NULL as a number":             {"n", nil, &n},
		"NULL as a truth":              {"n", nil, &yes},
		"NULL as a text":               {"word", nil, &text},
		"a text as a number":           {"word", "seven", &n},
		"a text as a truth":            {"word", "seven", &yes},
		"a negative number as another": {"n", -1, &u},
		"a number that is too large":   {"n", uint64(math.MaxUint64), &u},
		"a struct":                     {"word", struct{}{}, &text},
		"a list":                       {"word", []string{"a"}, &text},
	} {
		if err := writeThenRead(t.Context(), db, misfit.column, misfit.arg, misfit.dest); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if n != -1 || yes || text != "" || u != 0 {
		t.Errorf("got %v, %v, %q, %v", n, yes, text, u)
	}
}

func announcements(t *testing.T, db engine.Engine) {
	heard, stop := db.Watch(ready)
	other, _ := db.Watch("other")
	refused := errors.New("refused")
	if err := engine.Change(t.Context(), db, "refused", func(tx *engine.Tx) error {
		tx.Announce(ready)
		return refused
	}); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	put(t, db, "quiet")
	if len(heard) != 0 {
		t.Error("a step was announced that was not done, or announced nothing")
	}
	put(t, db, "a", ready)
	put(t, db, "b", ready)
	select {
	case <-heard:
	case <-t.Context().Done():
	}
	if len(other) != 0 {
		t.Error("another topic was announced")
	}
	stop()
	stop()
	for len(heard) > 0 {
		<-heard
	}
	put(t, db, "c", ready)
	if len(heard) != 0 {
		t.Error("announced after the watch ended")
	}
}

// stand begins a step that finds something once there is a key, or fails as the test says, and returns what becomes of it.
func stand(ctx context.Context, db engine.Engine, key string, fail error) (found <-chan string, outcome <-chan error) {
	keys, outcomes, stands := make(chan string, 2), make(chan error, 1), make(chan struct{})
	var first sync.Once
	go func() {
		outcomes <- db.Run(ctx, engine.Step{
			Waits: []engine.Topic{ready},
			Run: func(t *engine.Tx) error {
				defer first.Do(func() { close(stands) })
				var there bool
				err := t.Row(`SELECT EXISTS (SELECT 1 FROM things WHERE key = ?1)`, []any{key}, &there)
				if there && fail != nil {
					return fail
				}
				if err == nil && !there {
					t.Idle(0)
				}
				return err
			},
			Committed: func() { keys <- key },
		})
	}()
	<-stands
	return keys, outcomes
}

func woken(t *testing.T, db engine.Engine) {
	found, outcome := stand(t.Context(), db, "b", nil)
	put(t, db, "a", ready)
	if len(found) != 0 {
		t.Fatalf("found %q", <-found)
	}
	put(t, db, "b", ready)
	if err := <-outcome; err != nil || len(found) != 1 {
		t.Errorf("got %v, %d found", err, len(found))
	}
	put(t, db, "c", ready) // and no more
	if len(found) != 1 {
		t.Error("found twice")
	}
}

func failingWait(t *testing.T, db engine.Engine) {
	broken := errors.New("broken")
	_, bad := stand(t.Context(), db, "a", broken)
	found, good := stand(t.Context(), db, "a", nil)
	put(t, db, "a", ready)
	if err := <-bad; !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := <-good; err != nil || len(found) != 1 {
		t.Errorf("got %v, %d found", err, len(found))
	}
	same(t, Keys(t, db), "a")
}

func abandoned(t *testing.T, db engine.Engine) {
	ctx, leave := context.WithCancel(t.Context())
	found, outcome := stand(ctx, db, "a", nil)
	leave()
	if err := <-outcome; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	put(t, db, "a", ready)
	if len(found) != 0 {
		t.Error("something was found for it")
	}
}

func closedWait(t *testing.T, db engine.Engine) {
	_, outcome := stand(t.Context(), db, "a", nil)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// due tests that a step which knows when it finds something runs then, with nothing else to do for the engine.
func due(t *testing.T, db engine.Engine) {
	at := engine.Millis(db.Now().Add(50 * time.Millisecond))
	var ran int64
	if err := db.Run(t.Context(), engine.Step{Waits: []engine.Topic{ready}, Run: func(tx *engine.Tx) error {
		if ran = tx.Now; ran < at {
			tx.Idle(at)
		}
		return nil
	}}); err != nil || ran < at {
		t.Errorf("ran %d ms early: %v", at-ran, err)
	}
}

// counting tests that steps which read what they write lose nothing.
func counting(t *testing.T, db engine.Engine) {
	put(t, db, "count")
	const steps = 50
	var all sync.WaitGroup
	for range steps {
		all.Go(func() {
			if err := engine.Change(t.Context(), db, "count", func(tx *engine.Tx) error {
				var n sql.NullInt64
				if err := tx.Row(`SELECT n FROM things WHERE key = 'count'`, nil, &n); err != nil {
					return err
				}
				_, err := tx.Exec(`UPDATE things SET n = ?1 WHERE key = 'count'`, n.Int64+1)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var n int
	if err := db.View(t.Context()).Row(`SELECT n FROM things WHERE key = 'count'`, nil, &n); err != nil || n != steps {
		t.Errorf("counted %d of %d: %v", n, steps, err)
	}
}
