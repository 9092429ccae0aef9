package copying

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
	"github.com/clawhost/clawhost/core/internal/store/postgres"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// Database is where a store is kept: a [File] or a [Server].
type Database interface {
	// String names it for people. Nothing secret is in it.
	String() string

	// open opens it to be written, and brings its schema up to date.
	open(ctx context.Context) (engine.Engine, error)
	// read calls f with what it has. No host uses it, and nobody changes it until f has returned.
	read(ctx context.Context, f func(engine.Querier) error) error
	tables(from engine.Querier) ([]engine.Table, int, error)
	counters(from engine.Querier) (map[string]int64, error)
	setCounter(t *engine.Tx, table string, last int64) error
	// fit returns what it would keep of a text.
	fit(text string) string
	// instead says what copies it to another of its kind.
	instead() string
}

// File is the path of a database of SQLite.
type File string

// String implements [Database].
func (f File) String() string { return string(f) }

func (f File) open(ctx context.Context) (engine.Engine, error) {
	return sqlite.Open(ctx, string(f), migrations.SQLite(), sqlite.Options{Now: time.Now})
}

func (f File) read(ctx context.Context, g func(engine.Querier) error) error {
	err := sqlite.Read(ctx, string(f), g)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s: give the path of clawhost.db in state_dir", f)
	}
	return err
}

func (f File) tables(from engine.Querier) ([]engine.Table, int, error) { return sqlite.Tables(from) }

func (f File) counters(from engine.Querier) (map[string]int64, error) { return sqlite.Counters(from) }

func (f File) setCounter(t *engine.Tx, table string, last int64) error {
	return sqlite.SetCounter(t, table, last)
}

func (f File) fit(text string) string { return text }

func (f File) instead() string {
	return "both are SQLite: use `clawhost backup` and `clawhost restore`"
}

// serverPatience bounds how long a transaction may stand still that fills a server, which nobody else waits for.
const serverPatience = time.Minute

// Server is a database of PostgreSQL.
type Server struct{ dsn, name string }

// NewServer returns the database to which a DSN or URL leads.
func NewServer(dsn string) (Server, error) {
	name, err := postgres.Name(dsn)
	return Server{dsn, name}, err
}

// String implements [Database].
func (s Server) String() string { return s.name }

func (s Server) open(ctx context.Context) (engine.Engine, error) {
	if err := postgres.Unused(ctx, s.dsn); err != nil {
		return nil, err
	}
	return postgres.Open(ctx, s.dsn, migrations.Postgres(), postgres.Options{Patience: serverPatience})
}

func (s Server) read(ctx context.Context, f func(engine.Querier) error) error {
	return postgres.Read(ctx, s.dsn, f)
}

func (s Server) tables(from engine.Querier) ([]engine.Table, int, error) {
	return postgres.Tables(from)
}

func (s Server) counters(from engine.Querier) (map[string]int64, error) {
	return postgres.Counters(from)
}

func (s Server) setCounter(t *engine.Tx, table string, last int64) error {
	return postgres.SetCounter(t, table, last)
}

func (s Server) fit(text string) string { return postgres.Fit(text) }

func (s Server) instead() string { return "both are PostgreSQL: use pg_dump and pg_restore" }
