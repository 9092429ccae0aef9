package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
)

// File is the name of the database in the state folder.
const File = "clawhost.db"

// Options are the settings of a Store.
type Options struct {
	Now     func() time.Time // the clock; nil: time.Now
	Metrics *metrics.Metrics // count the transactions; nil: nothing does
}

// Store is the database of one host. Its methods are safe for concurrent use.
//
// A step that writes is on disk when its method returns nil. If a step's context ends before the step has begun, it is
// not done and the context's error is returned; a step that has begun is completed and reported. After an error that is
// neither of this package nor of a context, it is unknown whether the step was done.
type Store struct {
	dir     string      // has the database
	id      string      // the prefix of idempotency keys
	host    domain.Host // this process
	lock    lock
	conn    *connection // the writer's, once it runs
	readers *readers
	writer  *writer
	notify  *notifier
	moves   *moves

	close    sync.Once
	closeErr error
}

// Open opens the database at path and migrates its schema. It creates a missing file and its folder, the folder with
// mode 0700, the files with 0600. Open fails after two seconds if another Store, of any process, has the database open, and
// at once for a database of a newer clawhost. The context applies only to the opening.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if locked, ok := errors.AsType[*LockedError](err); ok {
		return nil, locked // which says all
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", explained(err))
	}
	return s, nil
}

func open(ctx context.Context, path string, opts Options) (_ *Store, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	s := &Store{dir: filepath.Dir(path), notify: newNotifier(), moves: &moves{}}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if s.host, err = self(); err != nil {
		return nil, err
	}
	if s.lock, err = takeLock(ctx, path); err != nil {
		return nil, err
	}
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	if s.conn, err = connect(path, "synchronous = FULL", "cache_size = -2000"); err != nil {
		return nil, err
	}
	// The file keeps the mode, so readers need not set it.
	if err := s.conn.run("PRAGMA journal_mode = WAL"); err != nil {
		return nil, err
	}
	if err := migrate(s.conn, migrations); err != nil {
		return nil, err
	}
	first := view{ctx: ctx, from: only{s.conn}}
	if err := first.row("SELECT id FROM store", nil, &s.id); err != nil {
		return nil, fmt.Errorf("read the database's id: %w", err)
	}
	moved, err := first.moved()
	if err != nil {
		return nil, fmt.Errorf("read which chats have moved: %w", err)
	}
	s.moves.set(moved)
	s.readers = newReaders(path)
	s.writer = startWriter(context.WithoutCancel(ctx), s.conn, opts.Now, s.notify, s.moves, opts.Metrics)
	return s, nil
}

// now is the time by the store's clock.
func (s *Store) now() time.Time { return s.writer.now() }

// Close closes the store once the steps that have begun are done. Other steps fail.
func (s *Store) Close() error {
	s.close.Do(func() {
		if s.writer != nil {
			s.writer.close()
			s.closeErr = s.readers.close()
		}
		if s.conn != nil {
			s.closeErr = errors.Join(s.closeErr, s.conn.Close())
		}
		if s.lock != nil {
			s.closeErr = errors.Join(s.closeErr, s.lock.Close())
		}
	})
	return s.closeErr
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
