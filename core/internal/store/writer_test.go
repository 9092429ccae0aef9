package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// gate holds the writer up, so that the steps after it share a transaction.
func gate(t *testing.T, s *Store) (open func()) {
	t.Helper()
	entered, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := step(context.WithoutCancel(t.Context()), s, "gate", func(*tx) (nothing, error) {
			close(entered)
			<-release
			return nothing{}, nil
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

func put(t *tx, key string) error {
	_, err := t.exec(`INSERT INTO state (instance, key, value, revision) VALUES ('test', ?1, '', 0)`, key)
	return err
}

func TestFailingStepDoesNotHarmItsBatch(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, spoil := range map[string]func(*tx) error{
		"refusal after a write": func(t *tx) error { return errors.Join(put(t, "bad"), refused) },
		"broken statement": func(t *tx) error {
			if err := put(t, "bad"); err != nil {
				return err
			}
			return put(t, "bad")
		},
		"broken statement that is not told": func(t *tx) error {
			_ = put(t, "bad")
			_, _ = t.exec(`INSERT INTO no_such_table VALUES (1)`)
			return refused
		},
		"transaction that SQLite has rolled back": func(t *tx) error {
			if err := put(t, "bad"); err != nil {
				return err
			}
			_, err := t.exec(`INSERT OR ROLLBACK INTO state (instance, key, value, revision) VALUES ('test', 'bad', '', 0)`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t)
			open := gate(t, s)
			const steps, bad = 20, 7
			outcomes := make(chan error, steps)
			for n := range steps {
				go func() {
					_, err := step(t.Context(), s, "step", func(t *tx) (nothing, error) {
						if n == bad {
							return nothing{}, spoil(t)
						}
						return nothing{}, put(t, fmt.Sprintf("%02d", n))
					})
					if n == bad && err != nil {
						err = nil
					} else if n == bad {
						err = errors.New("it went well")
					}
					outcomes <- err
				}()
			}
			waitQueued(t, s, steps)
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
			if _, err := step(t.Context(), s, "alone", func(t *tx) (nothing, error) { return nothing{}, spoil(t) }); err == nil {
				t.Error("alone it went well")
			}
			if _, err := step(t.Context(), s, "next", func(t *tx) (nothing, error) { return nothing{}, put(t, "next") }); err != nil {
				t.Error(err)
			}
			want = append(want, "next")
			got, err := s.ListState(t.Context(), "test", "", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

// waitQueued waits until n steps stand in the writer's queue: then one transaction takes them all.
func waitQueued(t *testing.T, s *Store, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(s.writer.queue) < n {
		<-tick.C
	}
}

func TestStepsShareTransactions(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	open := gate(t, s)
	const steps = maxBatch
	transactions := make(chan any, steps)
	for range steps {
		go func() {
			_, err := step(t.Context(), s, "step", func(t *tx) (nothing, error) {
				// The revision rises with every write of the transaction and is not seen outside of it.
				var n int
				err := t.row(`UPDATE store SET uncertain = uncertain + 1 RETURNING uncertain`, nil, &n)
				var committed int
				err = errors.Join(err, s.view(t.ctx).row(`SELECT uncertain FROM store`, nil, &committed))
				transactions <- committed
				return nothing{}, err
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	waitQueued(t, s, steps)
	open()
	for range steps {
		if before := <-transactions; before != 0 {
			t.Fatalf("a step saw %v committed before it, want all in one transaction", before)
		}
	}
}

func TestContextEndsAStepThatHasNotBegun(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	open := gate(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan error, 1)
	go func() {
		_, err := step(ctx, s, "late", func(t *tx) (nothing, error) { return nothing{}, put(t, "late") })
		outcome <- err
	}()
	waitQueued(t, s, 1)
	cancel()
	if err := <-outcome; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	open()
	if keys, err := s.ListState(t.Context(), "test", "", "", 0); len(keys) != 0 || err != nil {
		t.Errorf("the dropped step was done: %v, %v", keys, err)
	}
}

func TestStepThatHasBegunTellsItsOutcome(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := step(ctx, s, "begun", func(t *tx) (nothing, error) {
		cancel()
		return nothing{}, put(t, "begun")
	})
	if err != nil {
		t.Errorf("got %v", err)
	}
	if keys, err := s.ListState(t.Context(), "test", "", "", 0); len(keys) != 1 || err != nil {
		t.Errorf("written: %v, %v", keys, err)
	}
}

func TestCloseAnswersEveryStep(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	open := gate(t, s)
	const steps = 2 * maxBatch // more than the queue holds
	outcomes := make(chan error, steps)
	for n := range steps {
		go func() {
			_, err := step(t.Context(), s, "step", func(t *tx) (nothing, error) { return nothing{}, put(t, fmt.Sprint(n)) })
			outcomes <- err
		}()
	}
	waitQueued(t, s, maxBatch)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	open()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for range steps {
		if err := <-outcomes; err != nil && !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
	}
}

func TestMigrationsRunOnceEach(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	next := func(n int, name string) string { return fmt.Sprintf("migrations/%04d_%s.sql", len(names)+n, name) }
	files[next(1, "two")] = &fstest.MapFile{Data: []byte("CREATE TABLE two (n BIGINT); INSERT INTO two VALUES (1);")}
	for range 2 {
		if err := migrate(s.conn, files); err != nil {
			t.Fatal(err)
		}
	}
	files[next(2, "bad")] = &fstest.MapFile{Data: []byte("INSERT INTO two VALUES (2); INSERT INTO three VALUES (1);")}
	if err := migrate(s.conn, files); err == nil {
		t.Error("a broken migration went well")
	}
	var version, rows int
	err = s.view(t.Context()).row("SELECT (SELECT MAX(version) FROM schema_version), (SELECT COUNT(*) FROM two)", nil, &version, &rows)
	if err != nil || version != len(names)+1 || rows != 1 {
		t.Errorf("version %d, %d rows, error %v; want the state before the broken one", version, rows, err)
	}
	delete(files, next(2, "bad"))
	files[next(3, "gap")] = &fstest.MapFile{}
	if err := migrate(s.conn, files); err == nil {
		t.Error("a gap in the numbers went unseen")
	}
}

// Behaviour: accept-once.
func TestPurgeBoundsTheDedupeKeysByCount(t *testing.T) {
	t.Parallel()
	var now atomic.Int64 // no two events at the same time
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), Options{
		Now: func() time.Time { return time.UnixMilli(now.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	accept := func(n int) (duplicate bool) {
		t.Helper()
		a, err := s.Accept(t.Context(), domain.Inbound{
			EventID: chat.EventID(fmt.Sprint(n)), Session: "s", Lane: domain.TurnLane, Message: domain.Message{Channel: "telegram"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return a.Duplicate
	}
	for n := range 20 {
		accept(n)
	}
	if err := s.purge(t.Context(), Ages{}, 5); err != nil {
		t.Fatal(err)
	}
	for n := 19; n >= 14; n-- {
		if got, want := accept(n), n >= 15; got != want {
			t.Errorf("event %d: duplicate %v, want %v", n, got, want)
		}
	}
}

// What a step that returns has written survives a power failure, also where it shares its transaction with steps that need not.
func TestOnlySoftStepsDoNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	const soft, full = 1, 2 // as SQLite numbers them
	mode := func(t *tx, got *int) error {
		return t.row("PRAGMA synchronous", nil, got)
	}
	run := func(alone *int, step func(*int) error) {
		t.Helper()
		if err := step(alone); err != nil {
			t.Error(err)
		}
	}
	stepMode := func(got *int) error {
		_, err := step(t.Context(), s, "step", func(t *tx) (nothing, error) { return nothing{}, mode(t, got) })
		return err
	}
	softMode := func(got *int) error {
		return softStep(t.Context(), s, "soft step", func(t *tx) error { return mode(t, got) })
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
	open := gate(t, s)
	var steps sync.WaitGroup
	for i, step := range []func(*int) error{softMode, stepMode} {
		steps.Go(func() { run(&together[i], step) })
	}
	for len(s.writer.queue) < 2 {
		runtime.Gosched()
	}
	open()
	steps.Wait()
	if together != [2]int{full, full} {
		t.Errorf("synchronous is %d in a transaction of both, want %d", together, full)
	}
}
