package postgres

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/engine/enginetest"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
)

// things is the schema of the tests.
func things() fs.FS {
	return fstest.MapFS{"0001_things.sql": &fstest.MapFile{Data: fmt.Appendf(nil, enginetest.Schema, "BYTEA")}}
}

// openTest opens a database, which is closed when the test ends.
func openTest(t *testing.T, dsn string) *DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, things(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T) engine.Engine { return openTest(t, postgrestest.Shared(t).Database(t)) })
}

// A pooler that gives each transaction another connection knows no statement by its name. What is announced does not arrive there, so
// that the engine polls.
func TestEngineBehindAPooler(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	enginetest.Run(t, func(t *testing.T) engine.Engine { return openTest(t, server.Bouncer(t, server.Database(t), 0)) })
}
