package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// migrate runs the migration files that the database has not run, in the order of the numbers at the beginning of their names, of which
// the first is the base. Hosts that start at the same time do so one after the other. Each file is one transaction. A schema that is
// newer than the files is refused.
func (db *DB) migrate(ctx context.Context, migrations fs.FS) error {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return err
	}
	for done := false; !done; {
		if done, err = db.migrateNext(ctx, migrations, names); err != nil {
			return err
		}
	}
	return nil
}

// migrateNext runs the next migration, and reports whether there was none.
func (db *DB) migrateNext(ctx context.Context, migrations fs.FS, names []string) (done bool, err error) {
	tx, err := db.pool.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, noTx(tx.Rollback(context.WithoutCancel(ctx)))) }()
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", storeLock); err != nil {
		return false, err
	}
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return false, err
	}
	next, number, err := after(names, version)
	if err != nil || next == "" {
		return true, err
	}
	text, err := fs.ReadFile(migrations, next)
	if err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, string(text), pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, fmt.Errorf("migrate the database with %s: %w", next, err)
	}
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)", "DELETE FROM schema_version",
		fmt.Sprintf("INSERT INTO schema_version (version) VALUES (%d)", number),
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return false, err
		}
	}
	return false, tx.Commit(ctx)
}

// noTx returns nil for the error of the end of a transaction that has ended.
func noTx(err error) error {
	if errors.Is(err, pgx.ErrTxClosed) {
		return nil
	}
	return err
}

// schemaVersion returns the version of the database's schema; 0: it has none.
func schemaVersion(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass('schema_version') IS NOT NULL").Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version").Scan(&version)
	return version, err
}

// after returns the migration that follows a version, and its number; empty: none.
func after(names []string, version int) (next string, number int, err error) {
	last := 0
	for _, name := range names {
		digits, _, _ := strings.Cut(name, "_")
		n, err := strconv.Atoi(digits)
		if err != nil || last != 0 && n != last+1 {
			return "", 0, fmt.Errorf("migration %s: its number should be %d", name, last+1)
		}
		if last = n; n > version && next == "" {
			next, number = name, n
		}
	}
	if version > last {
		return "", 0, fmt.Errorf("%w (schema %d; this one knows up to %d): upgrade clawhost", engine.ErrNewer, version, last)
	}
	return next, number, nil
}
