package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Lock keeps hosts from the database at path, which need not exist, until the lock is closed. The error is a [LockedError] if a host
// uses it.
func Lock(ctx context.Context, path string) (io.Closer, error) { return takeLock(ctx, path) }

// Verify reports what is wrong with the database at path, which no DB may have open: a [LockedError], [engine.ErrNewer], or that it does
// not read as it was written. It reads the whole file and changes nothing.
func Verify(ctx context.Context, path string, migrations fs.FS) (err error) {
	defer func() { err = explained(err) }()
	held, err := takeLock(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	return use(ctx, path, func(c *connection) error {
		if _, err := knownVersion(c, migrations); err != nil {
			return err
		}
		return sound(ctx, c, "quick_check")
	})
}

// Check reports what is wrong with a database that nobody uses, a host's or a plugin's. It reads the whole file.
func Check(ctx context.Context, path string) error {
	return use(ctx, path, func(c *connection) error { return sound(ctx, c, "integrity_check") })
}

// sound has SQLite check a database.
func sound(ctx context.Context, c *connection, check string) error {
	var said string
	if err := engine.NewView(ctx, c).Row("PRAGMA "+check+"(1)", nil, &said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("the database is damaged: %s", said)
	}
	return nil
}

// Schema returns the number of the schema of a database that nobody uses. One that the migrations do not lead to is [engine.ErrNewer].
func Schema(ctx context.Context, path string, migrations fs.FS) (number int, err error) {
	err = use(ctx, path, func(c *connection) error {
		number, err = knownVersion(c, migrations)
		return err
	})
	return number, err
}

// Edit runs f in a transaction of a database that nobody uses. Afterwards the database is one file.
func Edit(ctx context.Context, path string, f func(*engine.Tx) error) error {
	return use(ctx, path, func(c *connection) (err error) {
		end, err := sqlitex.ImmediateTransaction(c.Conn)
		if err != nil {
			return err
		}
		defer end(&err)
		return f(engine.NewTx(ctx, c, 0))
	})
}

func knownVersion(c *connection, migrations fs.FS) (int, error) {
	known, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return 0, err
	}
	return schemaVersion(c, len(known))
}

// use opens a database that exists.
func use(ctx context.Context, path string, f func(*connection) error) (err error) {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	conn, err := connect(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer conn.SetInterrupt(conn.SetInterrupt(ctx.Done()))
	return f(conn)
}
