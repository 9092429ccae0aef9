package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
	"github.com/clawhost/clawhost/core/internal/store/plugindata"
	"github.com/clawhost/clawhost/core/internal/store/postgres"
	"github.com/clawhost/clawhost/core/internal/store/questions"
	"github.com/clawhost/clawhost/core/internal/store/queue"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
)

// File is the name of the database in the state folder.
const File = "clawhost.db"

// Options are the settings of a Store.
type Options struct {
	Now     func() time.Time // the clock; nil: time.Now, or that of the server
	Metrics *metrics.Metrics // count the transactions; nil: nothing does
	Log     hclog.Logger     // says that a server is away; nil: nothing does
	Host    string           // the name of this host among those that use the server; empty: it is alone
	Dir     string           // the state folder of that host, which no other process may use
}

// The parts of the store. Each has the steps of one subject.
type (
	conversations = sessions.Store
	outbox        = delivery.Store
	lanes         = queue.Store
	asked         = questions.Store
	kept          = plugindata.Store
	fleet         = hosts.Store
)

// Store is the database of one host. Its methods are safe for concurrent use.
//
// A step that writes is on disk when its method returns nil. If a step's context ends before the step has begun, it is
// not done and the context's error is returned; a step that has begun is completed and reported. After an error that is
// neither of a step nor of a context, it is unknown whether the step was done.
type Store struct {
	*conversations
	*outbox
	*lanes
	*asked
	*kept
	*fleet

	db      engine.Engine
	dir     string      // has the database; empty: a server has it
	lock    io.Closer   // of the state folder; nil: the database has it, or none is used
	process domain.Host // this one
	self    hosts.Self
}

// Open opens the database at path and migrates its schema. It creates a missing file and its folder, the folder with
// mode 0700, the files with 0600. Open fails after two seconds if another Store, of any process, has the database open, and
// at once for a database of a newer clawhost. The context applies only to the opening.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if err != nil {
		return nil, lockedOr(err)
	}
	return s, nil
}

// lockedOr returns a [*sqlite.LockedError] alone, which says all, and otherwise what has failed.
func lockedOr(err error) error {
	if locked, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return locked
	}
	return fmt.Errorf("open store: %w", err)
}

func open(ctx context.Context, path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	db, err := sqlite.Open(ctx, path, migrations.SQLite(), sqlite.Options{Now: opts.Now, Metrics: opts.Metrics, SetBack: setBack})
	if err != nil {
		return nil, err
	}
	return assemble(ctx, &Store{db: db, dir: filepath.Dir(path)})
}

// OpenServer opens the database of PostgreSQL that a DSN or URL names, which several hosts use, and migrates its schema. It fails at
// once for a database of a newer clawhost. With Options.Host, steps fail with [engine.ErrLapsed] until [hosts.Store.Register] and when the lease has
// ended. The context applies only to the opening.
func OpenServer(ctx context.Context, dsn string, opts Options) (*Store, error) {
	settings := postgres.Options{Now: opts.Now, Metrics: opts.Metrics, Log: opts.Log}
	s := &Store{}
	if opts.Host != "" {
		s.self = hosts.Self{ID: uuid.NewString(), Name: opts.Host}
		settings.Fence, settings.FencedBy = hosts.Fence, s.self.ID
		var err error
		if s.lock, s.self.Folder, err = takeFolder(ctx, opts.Dir); err != nil {
			return nil, lockedOr(err)
		}
	}
	db, err := postgres.Open(ctx, dsn, migrations.Postgres(), settings)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", errors.Join(err, s.unlock()))
	}
	s.db = db
	if s, err = assemble(ctx, s); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// assemble puts the parts of a store together, or closes its database.
func assemble(ctx context.Context, s *Store) (_ *Store, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.process, err = thisProcess(); err != nil {
		return nil, err
	}
	prefix, err := id(s.db.View(ctx))
	if err != nil {
		return nil, err
	}
	if s.outbox, err = delivery.New(ctx, s.db, s.self, prefix); err != nil {
		return nil, err
	}
	s.conversations, s.lanes, s.asked, s.kept = sessions.New(s.db, s.self), queue.New(s.db, s.self), questions.New(s.db), plugindata.New(s.db)
	s.fleet = hosts.New(s.db, s.self)
	return s, nil
}

// id returns the id of the database, which is the prefix of idempotency keys. The error is [engine.ErrUnfinished] for a copy without one.
func id(from engine.Querier) (id string, err error) {
	err = from.Row("SELECT id FROM store", nil, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", engine.ErrUnfinished
	}
	if err != nil {
		return "", fmt.Errorf("read the database's id: %w", err)
	}
	return id, nil
}

// Ping returns nil once a step was done that changes nothing. It writes nothing to the disk.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.Run(ctx, engine.Step{Soft: true, Run: func(*engine.Tx) error { return nil }}); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Table is a table of the database, without its content.
type Table struct {
	Name   string `json:"name"`
	Schema string `json:"schema"` // its columns and their kinds
	Rows   int64  `json:"rows"`
}

// Tables describes the tables of the database, and returns the number of the schema. It counts rows until ctx ends.
func (s *Store) Tables(ctx context.Context) (tables []Table, schema int, err error) {
	described, schema, err := s.db.Tables(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, of := range described {
		t := Table{Name: of.Name}
		for _, c := range of.Columns {
			t.Schema += c.Name + " " + c.Kind + "\n"
		}
		if err := s.db.View(ctx).Row(`SELECT COUNT(*) FROM "`+t.Name+`"`, nil, &t.Rows); err != nil {
			return nil, 0, fmt.Errorf("count the rows of a table: %w", err)
		}
		tables = append(tables, t)
	}
	return tables, schema, nil
}

// Compact removes what was deleted from the files of the database. Nothing else may be done with the store.
func (s *Store) Compact() error { return s.db.Compact() }

// Close closes the store once the steps that have begun are done. Other steps fail.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.unlock()) }

// unlock lets other processes use the state folder.
func (s *Store) unlock() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}
