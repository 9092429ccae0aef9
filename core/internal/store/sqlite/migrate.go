package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// migrate runs the migration files that the database has not run, in the order of the numbers at the beginning of their
// names: 1, 2, 3 and so on. Each file is one transaction. A schema that is newer than the files is refused.
func migrate(conn *connection, migrations fs.FS) error {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return err
	}
	const versionTable = `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`
	if err := conn.run(versionTable); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	version, err := schemaVersion(conn, len(names))
	if err != nil {
		return err
	}
	for i, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return fmt.Errorf("migration %s: its number should be %d", name, i+1)
		}
		if i < version {
			continue
		}
		crashpoint.Pass("migrating") // The database has the schema of the file before.
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		if err := migrateOne(conn, string(text), i+1); err != nil {
			return fmt.Errorf("migrate the database with %s: %w", name, err)
		}
		crashpoint.Pass("migrating") // The migration is durable, the next one has not begun.
	}
	return nil
}

// schemaVersion returns the version of the database's schema, of which this program knows the first ones.
func schemaVersion(conn *connection, known int) (version int, err error) {
	read := engine.NewView(context.Background(), conn)
	if err := read.Row("SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &version); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	if version > known {
		return 0, fmt.Errorf("%w (schema %d; this one knows up to %d): upgrade clawhost", engine.ErrNewer, version, known)
	}
	return version, nil
}

func migrateOne(conn *connection, text string, version int) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn.Conn)
	if err != nil {
		return err
	}
	defer end(&err)
	if err := sqlitex.ExecuteScript(conn.Conn, text+fmt.Sprintf(`;
		DELETE FROM schema_version; INSERT INTO schema_version (version) VALUES (%d);`, version), nil); err != nil {
		return err
	}
	crashpoint.Pass("migrating") // Everything of the migration is done, and not committed.
	return nil
}
