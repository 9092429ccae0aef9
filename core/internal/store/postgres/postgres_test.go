package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/engine/enginetest"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
)

// What one process announces another one hears, and what waits there runs.
func TestAnnouncementsReachOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Shared(t).Database(t)
	here, there := openTest(t, dsn), openTest(t, dsn)
	const ready engine.Topic = "ready"
	heard, stop := there.Watch(ready)
	defer stop()
	other, _ := there.Watch("other")
	if err := engine.Change(t.Context(), here, "announce", func(t *engine.Tx) error {
		t.Announce(ready, engine.Topic(strings.Repeat("long ", 10)))
		return enginetest.Put(t, "a")
	}); err != nil {
		t.Fatal(err)
	}
	<-heard
	if len(other) != 0 {
		t.Error("another topic is heard")
	}
	if err := engine.Change(t.Context(), here, "announce much", func(t *engine.Tx) error {
		t.Announce(ready, engine.Topic(strings.Repeat("long ", mostAnnounced)))
		return enginetest.Put(t, "b")
	}); err != nil {
		t.Fatal(err)
	}
	<-heard
	<-other // what is too long is announced as everything
}

// What a step watches once it is committed hears of all that other processes commit from then on.
func TestWatchesFromACommitOn(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Shared(t).Database(t)
	here, there := openTest(t, dsn), openTest(t, dsn)
	early, stop := here.Watch("changed")
	defer stop()
	var heard <-chan struct{}
	err := here.Run(t.Context(), engine.Step{
		Run: func(t *engine.Tx) error { return enginetest.Put(t, "a") },
		Committed: func() {
			if err := engine.Change(t.Context(), there, "change", func(t *engine.Tx) error {
				t.Announce("changed")
				return enginetest.Put(t, "b")
			}); err != nil {
				t.Error(err)
			}
			select {
			case <-early:
				t.Error("it is passed on before all is committed that came before it")
			case <-time.After(300 * time.Millisecond):
			}
			heard, _ = here.Watch("changed")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-heard
}

// A pooler passes no announcements on: those who wait look for themselves.
func TestAnnouncementsBehindAPooler(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	dsn := server.Bouncer(t, server.Database(t), 0)
	here, there := openTest(t, dsn), openTest(t, dsn)
	found := make(chan error, 1)
	go func() {
		found <- there.Run(t.Context(), engine.Step{Waits: []engine.Topic{"ready"}, Run: func(tx *engine.Tx) error {
			var ready bool
			err := tx.Row(`SELECT EXISTS (SELECT 1 FROM things)`, nil, &ready)
			if !ready {
				tx.Idle(0)
			}
			return err
		}})
	}()
	if err := engine.Change(t.Context(), here, "announce", func(t *engine.Tx) error {
		t.Announce("ready")
		return enginetest.Put(t, "a")
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-found; err != nil {
		t.Error(err)
	}
}

// Steps of several processes lose nothing of each other.
func TestStepsOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Shared(t).Database(t)
	var all sync.WaitGroup
	dbs := []*DB{openTest(t, dsn), openTest(t, dsn)}
	const steps = 40
	for n := range steps {
		all.Go(func() {
			if err := engine.Change(t.Context(), dbs[n%2], "count", func(t *engine.Tx) error {
				var rows int
				if err := t.Row(`SELECT COUNT(*) FROM things`, nil, &rows); err != nil {
					return err
				}
				return enginetest.Put(t, fmt.Sprintf("%02d", rows)) // fails where two steps count the same
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if keys := enginetest.Keys(t, dbs[0]); len(keys) != steps {
		t.Errorf("%d keys were written, want %d", len(keys), steps)
	}
}

// Processes that start at the same time run each migration once, and an older program leaves the database alone.
func TestMigrationsRunOnceEach(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Shared(t).Database(t)
	files := fstest.MapFS{
		"0007_base.sql": {Data: []byte("CREATE TABLE one (n BIGINT); INSERT INTO one VALUES (1);")},
		"0008_two.sql":  {Data: []byte("CREATE TABLE two (n BIGINT); INSERT INTO one VALUES (2);")},
	}
	open := func(files fstest.MapFS) error {
		db, err := Open(t.Context(), dsn, files, Options{})
		if err == nil {
			err = db.Close()
		}
		return err
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := open(files); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	files["0009_bad.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO one VALUES (3); INSERT INTO three VALUES (1);")}
	if err := open(files); err == nil || !strings.Contains(err.Error(), "0009_bad.sql") {
		t.Errorf("a broken migration: %v", err)
	}
	delete(files, "0009_bad.sql")
	db, err := Open(t.Context(), dsn, files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rows, version int
	if err := db.View(t.Context()).Row(`SELECT COUNT(*), (SELECT MAX(version) FROM schema_version) FROM one`, nil, &rows, &version); err != nil || rows != 2 || version != 8 {
		t.Errorf("%d rows, schema %d, %v; want each migration once", rows, version, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	delete(files, "0008_two.sql")
	if err := open(files); !errors.Is(err, engine.ErrNewer) {
		t.Errorf("an older program: %v", err)
	}
	files["0008_two.sql"], files["0010_gap.sql"] = &fstest.MapFile{}, &fstest.MapFile{}
	if err := open(files); err == nil || !strings.Contains(err.Error(), "its number should be 9") {
		t.Errorf("a gap in the numbers: %v", err)
	}
}

// A DSN has a password: no error repeats it.
func TestErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"postgres://user:s3cret@127.0.0.1:1/name", "postgres://user:s3cret@[", "host=127.0.0.1 port=one password=s3cret"} {
		if db, err := Open(t.Context(), dsn, things(), Options{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, %v", db, err)
		}
	}
}

// Text that PostgreSQL cannot store is stored as far as it can.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	db := openTest(t, postgrestest.Shared(t).Database(t))
	for text, want := range map[string]string{"a\x00b": "a\uFFFDb", "\xff": "\uFFFD", "héllo": "héllo"} {
		var got string
		if err := engine.Change(t.Context(), db, "write", func(t *engine.Tx) error {
			return t.Row(`INSERT INTO things (key, word) VALUES (?1, ?1) RETURNING word`, []any{text}, &got)
		}); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// While the server is away steps fail, and nothing that failed is there later; when it is back the engine goes on by itself.
func TestAServerThatIsAway(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, "fsync=on")
	db := openTest(t, server.TCP(server.Database(t)))
	put := func(key string) error {
		return engine.Change(t.Context(), db, "put", func(t *engine.Tx) error { return enginetest.Put(t, key) })
	}
	if err := put("before"); err != nil {
		t.Fatal(err)
	}
	heard, stop := db.Watch("ready")
	defer stop()
	server.Kill(t)
	if err := put("meanwhile"); err == nil {
		t.Error("a step succeeds without a server")
	}
	if err := db.View(t.Context()).Row(`SELECT COUNT(*) FROM things`, nil, new(int)); err == nil {
		t.Error("a view reads without a server")
	}
	server.Start(t)
	<-heard // what was announced while the server was away is unknown
	if err := put("after"); err != nil {
		t.Error(err)
	}
	if got := enginetest.Keys(t, db); strings.Join(got, " ") != "after before" {
		t.Errorf("got %q", got)
	}
}

// A step whose commit got no answer asks whether it was done: what is reported as failed is not there, and what is there was reported.
func TestCommitsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	proxy := postgrestest.NewProxy(t, server)
	db := openTest(t, proxy.DSN(server.Database(t)))
	done := map[string]bool{}
	for n := range 30 {
		key := fmt.Sprintf("%02d", n)
		cut := make(chan struct{})
		err := engine.Change(t.Context(), db, "put", func(t *engine.Tx) error {
			err := enginetest.Put(t, key)
			if n%3 == 0 {
				go func() {
					defer close(cut)
					proxy.Cut()
					proxy.Heal()
				}()
			} else {
				close(cut)
			}
			return err
		})
		done[key] = err == nil
		<-cut
	}
	there := map[string]bool{}
	for {
		if err := db.View(t.Context()).Row(`SELECT 1`, nil, new(int)); err == nil {
			break
		} else if errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for _, key := range enginetest.Keys(t, db) {
		there[key] = true
	}
	for key, reported := range done {
		if reported != there[key] {
			t.Errorf("step %s was reported as done: %v; it is there: %v", key, reported, there[key])
		}
	}
}

// Where the network swallows everything, a step and a view fail in time. A transaction that stands still holds others up no longer.
func TestANetworkThatSwallowsEverything(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	proxy := postgrestest.NewProxy(t, server)
	dsn := server.Database(t)
	there := openTest(t, dsn)
	const patience = 500 * time.Millisecond
	here, err := Open(t.Context(), proxy.DSN(dsn), things(), Options{Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	put := func(db *DB, key string, before func()) error {
		return engine.Change(t.Context(), db, "put", func(t *engine.Tx) error {
			before()
			return enginetest.Put(t, key)
		})
	}
	if err := put(here, "frozen", proxy.BlackHole); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("a step whose network is gone: %v", err)
	}
	if err := put(there, "other", func() {}); err != nil { // waits for the first one's end
		t.Error(err)
	}
	if err := here.View(t.Context()).Row(`SELECT COUNT(*) FROM things`, nil, new(int)); err == nil {
		t.Error("a view reads without a network")
	}
	proxy.Heal()
	for put(here, "healed", func() {}) != nil {
		if t.Context().Err() != nil {
			t.Fatal("it does not recover")
		}
	}
	if got := enginetest.Keys(t, there); strings.Join(got, " ") != "healed other" {
		t.Errorf("got %q", got)
	}
}
