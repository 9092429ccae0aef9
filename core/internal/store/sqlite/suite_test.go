package sqlite

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/engine/enginetest"
)

// things is the schema of the tests.
func things() fs.FS {
	return fstest.MapFS{"0001_things.sql": &fstest.MapFile{Data: fmt.Appendf(nil, enginetest.Schema, "BLOB")}}
}

func openTest(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), things(), Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T) engine.Engine { return openTest(t) })
}

// What a step leaves is found in its transaction, and reported before the step returns.
func TestAWaitingStepSharesTheTransactionThatWakesIt(t *testing.T) {
	t.Parallel()
	db := openTest(t)
	const ready engine.Topic = "ready"
	stands, found, outcome := make(chan struct{}), make(chan struct{}, 1), make(chan error, 1)
	first := true
	go func() {
		outcome <- db.Run(t.Context(), engine.Step{
			Waits: []engine.Topic{ready},
			Run: func(t *engine.Tx) error {
				if first {
					first = false
					close(stands)
					t.Idle(0)
				}
				return nil
			},
			Committed: func() { found <- struct{}{} },
		})
	}()
	<-stands
	if err := engine.Change(t.Context(), db, "wake", func(t *engine.Tx) error {
		t.Announce(ready)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Error("not found when the step had returned")
	}
	if err := <-outcome; err != nil {
		t.Error(err)
	}
}

// A step that knows when it finds something runs at that time, and not before.
func TestAWaitingStepSleepsUntilItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), t.TempDir()+"/clawhost.db", things(), Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		began, due := time.Now(), time.Now().Add(time.Hour)
		err = db.Run(t.Context(), engine.Step{Waits: []engine.Topic{}, Run: func(t *engine.Tx) error {
			if t.Now < engine.Millis(due) {
				t.Idle(engine.Millis(due))
			}
			return nil
		}})
		if took := time.Since(began); err != nil || took != time.Hour {
			t.Errorf("after %v: %v", took, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
