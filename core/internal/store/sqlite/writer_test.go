package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/engine/enginetest"
)

// gate holds the writer up, so that the steps after it share a transaction.
func gate(t *testing.T, db *DB) (open func()) {
	t.Helper()
	entered, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		err := engine.Change(context.WithoutCancel(t.Context()), db, "gate", func(*engine.Tx) error {
			close(entered)
			<-release
			return nil
		})
		done <- err
	}()
	<-entered
	return func() {
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestFailingStepDoesNotHarmItsBatch(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, spoil := range map[string]func(*engine.Tx) error{
		"refusal after a write": func(t *engine.Tx) error { return errors.Join(enginetest.Put(t, "bad"), refused) },
		"broken statement": func(t *engine.Tx) error {
			if err := enginetest.Put(t, "bad"); err != nil {
				return err
			}
			return enginetest.Put(t, "bad")
		},
		"broken statement that is not told": func(t *engine.Tx) error {
			_ = enginetest.Put(t, "bad")
			_, _ = t.Exec(`INSERT INTO no_such_table VALUES (1)`)
			return refused
		},
		"transaction that SQLite has rolled back": func(t *engine.Tx) error {
			if err := enginetest.Put(t, "bad"); err != nil {
				return err
			}
			_, err := t.Exec(`INSERT OR ROLLBACK INTO things (key) VALUES ('bad')`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openTest(t)
			open := gate(t, db)
			const steps, bad = 20, 7
			outcomes := make(chan error, steps)
			for n := range steps {
				go func() {
					err := engine.Change(t.Context(), db, "step", func(t *engine.Tx) error {
						if n == bad {
							return spoil(t)
						}
						return enginetest.Put(t, fmt.Sprintf("%02d", n))
					})
					if n == bad && err != nil {
						err = nil
					} else if n == bad {
						err = errors.New("it went well")
					}
					outcomes <- err
				}()
			}
			waitQueued(t, db, steps)
			open()
			for range steps {
				if err := <-outcomes; err != nil {
					t.Error(err)
				}
			}
			var want []string
			for n := range steps {
				if n != bad {
					want = append(want, fmt.Sprintf("%02d", n))
				}
			}
			// Alone in its transaction it leaves nothing either, and the next one is not harmed.
			if err := engine.Change(t.Context(), db, "alone", func(t *engine.Tx) error { return spoil(t) }); err == nil {
				t.Error("alone it went well")
			}
			if err := engine.Change(t.Context(), db, "next", func(t *engine.Tx) error { return enginetest.Put(t, "next") }); err != nil {
				t.Error(err)
			}
			want = append(want, "next")
			if diff := cmp.Diff(want, enginetest.Keys(t, db)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

// waitQueued waits until n steps stand in the writer's queue: then one transaction takes them all.
func waitQueued(t *testing.T, db *DB, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(db.writer.queue) < n {
		<-tick.C
	}
}

func TestStepsShareTransactions(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	open := gate(t, db)
	const steps = maxBatch
	transactions := make(chan any, steps)
	for range steps {
		go func() {
			err := engine.Change(t.Context(), db, "step", func(t *engine.Tx) error {
				// The number rises with every write of the transaction and is not seen outside of it.
				_, err := t.Exec(`INSERT INTO things (key, n) VALUES ('count', 1) ON CONFLICT (key) DO UPDATE SET n = things.n + 1`)
				var committed int
				err = errors.Join(err, db.View(context.Background()).Row(`SELECT COALESCE(SUM(n), 0) FROM things`, nil, &committed))
				transactions <- committed
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	waitQueued(t, db, steps)
	open()
	for range steps {
		if before := <-transactions; before != 0 {
			t.Fatalf("a step saw %v committed before it, want all in one transaction", before)
		}
	}
}

func TestContextEndsAStepThatHasNotBegun(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	open := gate(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan error, 1)
	go func() {
		err := engine.Change(ctx, db, "late", func(t *engine.Tx) error { return enginetest.Put(t, "late") })
		outcome <- err
	}()
	waitQueued(t, db, 1)
	cancel()
	if err := <-outcome; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	open()
	if keys := enginetest.Keys(t, db); len(keys) != 0 {
		t.Errorf("the dropped step was done: %v", keys)
	}
}

func TestCloseAnswersEveryStep(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	open := gate(t, db)
	const steps = 2 * maxBatch // more than the queue holds
	outcomes := make(chan error, steps)
	for n := range steps {
		go func() {
			err := engine.Change(t.Context(), db, "step", func(t *engine.Tx) error { return enginetest.Put(t, fmt.Sprint(n)) })
			outcomes <- err
		}()
	}
	waitQueued(t, db, maxBatch)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	open()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for range steps {
		if err := <-outcomes; err != nil && !errors.Is(err, engine.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

func TestMigrationsRunOnceEach(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	files := things().(fstest.MapFS)
	next := func(n int, name string) string { return fmt.Sprintf("%04d_%s.sql", 1+n, name) }
	files[next(1, "two")] = &fstest.MapFile{Data: []byte("CREATE TABLE two (n BIGINT); INSERT INTO two VALUES (1);")}
	for range 2 {
		if err := migrate(db.conn, files); err != nil {
			t.Fatal(err)
		}
	}
	files[next(2, "bad")] = &fstest.MapFile{Data: []byte("INSERT INTO two VALUES (2); INSERT INTO three VALUES (1);")}
	if err := migrate(db.conn, files); err == nil {
		t.Error("a broken migration went well")
	}
	var version, rows int
	err := db.View(t.Context()).Row("SELECT (SELECT MAX(version) FROM schema_version), (SELECT COUNT(*) FROM two)", nil, &version, &rows)
	if err != nil || version != 2 || rows != 1 {
		t.Errorf("version %d, %d rows, error %v; want the state before the broken one", version, rows, err)
	}
	delete(files, next(2, "bad"))
	files[next(3, "gap")] = &fstest.MapFile{}
	if err := migrate(db.conn, files); err == nil {
		t.Error("a gap in the numbers went unseen")
	}
}

// What a step that returns has written survives a power failure, also where it shares its transaction with steps that need not.
func TestOnlySoftStepsDoNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	const soft, full = 1, 2 // as SQLite numbers them
	mode := func(t *engine.Tx, got *int) error {
		return t.Row("PRAGMA synchronous", nil, got)
	}
	run := func(alone *int, step func(*int) error) {
		t.Helper()
		if err := step(alone); err != nil {
			t.Error(err)
		}
	}
	stepMode := func(got *int) error {
		return engine.Change(t.Context(), db, "step", func(t *engine.Tx) error { return mode(t, got) })
	}
	softMode := func(got *int) error {
		return engine.ChangeSoftly(t.Context(), db, "soft step", func(t *engine.Tx) error { return mode(t, got) })
	}
	for range 2 {
		var one, other int
		run(&one, softMode)
		run(&other, stepMode)
		if one != soft || other != full {
			t.Errorf("synchronous is %d in a soft step and %d in a step, want %d and %d", one, other, soft, full)
		}
	}
	var together [2]int
	open := gate(t, db)
	var steps sync.WaitGroup
	for i, step := range []func(*int) error{softMode, stepMode} {
		steps.Go(func() { run(&together[i], step) })
	}
	for len(db.writer.queue) < 2 {
		runtime.Gosched()
	}
	open()
	steps.Wait()
	if together != [2]int{full, full} {
		t.Errorf("synchronous is %d in a transaction of both, want %d", together, full)
	}
}

// No kill can show this: without it, a power cut would lose accepted messages.
func TestCommitsWaitForTheDisk(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	if err := engine.Change(t.Context(), db, "look", func(tx *engine.Tx) error {
		for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "mmap_size": "0"} {
			var got string
			if err := tx.Row("PRAGMA "+pragma, nil, &got); err != nil || got != want {
				t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
