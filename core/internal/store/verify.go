package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Verify reports what is wrong with the database at path, which no Store may have open: a [LockedError], [ErrNewer], or that it does
// not read as it was written. It reads the whole file and changes nothing. `clawhost doctor` calls it.
func Verify(ctx context.Context, path string) (err error) {
	defer func() { err = explained(err) }()
	held, err := takeLock(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	conn, err := connect(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer conn.SetInterrupt(conn.SetInterrupt(ctx.Done()))
	known, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	if _, err := schemaVersion(conn, len(known)); err != nil {
		return err
	}
	var said string
	read := view{ctx: ctx, from: only{conn}}
	if err := read.row("PRAGMA quick_check(1)", nil, &said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("the database is damaged: %s", said)
	}
	return nil
}
