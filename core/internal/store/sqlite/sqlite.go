// Package sqlite is the engine that keeps the database in one file, which no other process uses.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Options are the settings of a DB.
type Options struct {
	Now     func() time.Time // the clock
	Metrics *metrics.Metrics // count the transactions; nil: nothing does
	// SetBack corrects the waiting times in the database after the clock was set back by some milliseconds, in a step of its own,
	// before other steps use the clock; nil: there are none.
	SetBack func(t *engine.Tx, by int64) error
}

// DB is the database in a file. It implements [engine.Engine].
type DB struct {
	path    string
	lock    lock
	conn    *connection // the writer's, once it runs
	readers *readers
	writer  *writer
	hub     engine.Hub

	close    sync.Once
	closeErr error
}

// Open opens the database at path and brings its schema up to date by the migrations. It creates a missing file and its folder, the folder
// with mode 0700, the files with 0600. The error is a [LockedError] after two seconds if another DB, of any process, has the
// database open, and [engine.ErrNewer] at once for a database of a newer clawhost. The context applies only to the opening.
func Open(ctx context.Context, path string, migrations fs.FS, opts Options) (*DB, error) {
	db, err := open(ctx, path, migrations, opts)
	if err != nil {
		return nil, explained(err)
	}
	return db, nil
}

func open(ctx context.Context, path string, migrations fs.FS, opts Options) (_ *DB, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	db := &DB{path: path}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	if db.lock, err = takeLock(ctx, path); err != nil {
		return nil, err
	}
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	if db.conn, err = connect(path, "synchronous = FULL", "cache_size = -2000"); err != nil {
		return nil, err
	}
	// The file keeps the mode, so readers need not set it.
	if err := db.conn.run("PRAGMA journal_mode = WAL"); err != nil {
		return nil, err
	}
	if err := migrate(db.conn, migrations); err != nil {
		return nil, err
	}
	db.readers = newReaders(path)
	db.writer = startWriter(context.WithoutCancel(ctx), db.conn, &db.hub, opts)
	return db, nil
}

// Run implements [engine.Engine].
func (db *DB) Run(ctx context.Context, s engine.Step) error {
	op := newOperation(s)
	if s.Waits != nil {
		op.due = engine.Millis(db.Now())
	}
	return db.writer.submit(ctx, op)
}

// View implements [engine.Engine].
func (db *DB) View(ctx context.Context) engine.View { return engine.NewView(ctx, db.readers) }

// Watch implements [engine.Engine].
func (db *DB) Watch(topic engine.Topic) (<-chan struct{}, func()) { return db.hub.Watch(topic) }

// Now implements [engine.Engine].
func (db *DB) Now() time.Time { return db.writer.opts.Now() }

// Tables implements [engine.Engine].
func (db *DB) Tables(ctx context.Context) ([]engine.Table, int, error) {
	return Tables(db.View(ctx))
}

// Tables does as the method of a DB does.
func Tables(from engine.Querier) ([]engine.Table, int, error) {
	return engine.ReadTables(from, `SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT IN ('sqlite_sequence', 'sqlite_stat1') ORDER BY t.name, c.cid`, map[string]string{"TEXT": engine.Text, "BLOB": engine.Bytes})
}

// Statements implements [engine.Engine].
func (db *DB) Statements() (texts []string) {
	_ = db.Run(context.Background(), engine.Step{Soft: true, Run: func(*engine.Tx) error { // as the writer uses them
		texts = slices.Collect(maps.Keys(db.conn.prepared))
		return nil
	}})
	return append(texts, db.readers.statements()...)
}

// Compact implements [engine.Engine]: it writes the whole database again, and empties its log. Nothing else may be done with the database.
func (db *DB) Compact() (err error) {
	defer func() { err = explained(err) }()
	conn, err := connect(db.path, "secure_delete = ON")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, statement := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err := conn.run(statement); err != nil {
			return fmt.Errorf("write the database again: %w", err)
		}
	}
	return nil
}

// Close implements [engine.Engine].
func (db *DB) Close() error {
	db.close.Do(func() {
		if db.writer != nil {
			db.writer.close()
			db.closeErr = db.readers.close()
		}
		if db.conn != nil {
			db.closeErr = errors.Join(db.closeErr, db.conn.Close())
		}
		if db.lock != nil {
			db.closeErr = errors.Join(db.closeErr, db.lock.Close())
		}
	})
	return db.closeErr
}

// makePrivate ensures that only the host's user can read the database. SQLite gives its side files the mode of the main file.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
