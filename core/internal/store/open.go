package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
	"github.com/clawhost/clawhost/core/internal/store/plugindata"
	"github.com/clawhost/clawhost/core/internal/store/questions"
	"github.com/clawhost/clawhost/core/internal/store/queue"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// File is the name of the database in the state folder.
const File = "clawhost.db"

// Options are the settings of a Store.
type Options struct {
	Now     func() time.Time // the clock; nil: time.Now
	Metrics *metrics.Metrics // count the transactions; nil: nothing does
}

// The parts of the store. Each has the steps of one subject.
type (
	conversations = sessions.Store
	outbox        = delivery.Store
	lanes         = queue.Store
	asked         = questions.Store
	kept          = plugindata.Store
)

// Store is the database of one host. Its methods are safe for concurrent use.
//
// A step that writes is on disk when its method returns nil. If a step's context ends before the step has begun, it is
// not done and the context's error is returned; a step that has begun is completed and reported. After an error that is
// neither of this package nor of a context, it is unknown whether the step was done.
type Store struct {
	*conversations
	*outbox
	*lanes
	*asked
	*kept

	db   engine.Engine
	dir  string      // has the database
	host domain.Host // this process
}

// Open opens the database at path and migrates its schema. It creates a missing file and its folder, the folder with
// mode 0700, the files with 0600. Open fails after two seconds if another Store, of any process, has the database open, and
// at once for a database of a newer clawhost. The context applies only to the opening.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if locked, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return nil, locked // which says all
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, path string, opts Options) (_ *Store, err error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Store{dir: filepath.Dir(path)}
	if s.host, err = self(); err != nil {
		return nil, err
	}
	if s.db, err = sqlite.Open(ctx, path, migrations.Files(), sqlite.Options{Now: opts.Now, Metrics: opts.Metrics, SetBack: setBack}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.db.Close())
		}
	}()
	var id string // the prefix of idempotency keys
	if err := s.db.View(ctx).Row("SELECT id FROM store", nil, &id); err != nil {
		return nil, fmt.Errorf("read the database's id: %w", err)
	}
	if s.outbox, err = delivery.New(ctx, s.db, id); err != nil {
		return nil, err
	}
	s.conversations, s.lanes, s.asked, s.kept = sessions.New(s.db), queue.New(s.db), questions.New(s.db), plugindata.New(s.db)
	return s, nil
}

// Ping returns nil once a step was done that changes nothing. It writes nothing to the disk.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.Run(ctx, engine.Step{Soft: true, Run: func(*engine.Tx) error { return nil }}); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Tables describes the tables of the database, without their content, and returns the version of the schema. It counts until ctx ends.
func (s *Store) Tables(ctx context.Context) ([]engine.Table, int, error) { return s.db.Tables(ctx) }

// Compact writes the whole database again, without what was deleted. Nothing else may be done with the store.
func (s *Store) Compact() error { return s.db.Compact() }

// Close closes the store once the steps that have begun are done. Other steps fail.
func (s *Store) Close() error { return s.db.Close() }
