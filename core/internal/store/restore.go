package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"zombiezen.com/go/sqlite/sqlitex"
)

// A Copy is a snapshot of a host's database that nobody uses.
type Copy struct{ path string }

// NewCopy returns the copy at path. A missing file is an error of each method.
func NewCopy(path string) Copy { return Copy{path} }

// Lock keeps hosts from the database at path, which need not exist, until the lock is closed. The error is a [LockedError] if a host
// uses it.
func Lock(ctx context.Context, path string) (io.Closer, error) { return takeLock(ctx, path) }

// CheckDatabase reports what is wrong with a database that nobody uses, the host's or a plugin's. It reads the whole file.
func CheckDatabase(ctx context.Context, path string) error {
	return NewCopy(path).with(ctx, func(c *connection) error {
		var said string
		if err := (view{ctx: ctx, from: only{c}}).row("PRAGMA integrity_check(1)", nil, &said); err != nil {
			return err
		}
		if said != "ok" {
			return fmt.Errorf("the database is damaged: %s", said)
		}
		return nil
	})
}

// Schema returns the number of the copy's schema. That of a newer clawhost is [ErrNewer].
func (c Copy) Schema(ctx context.Context) (number int, err error) {
	known, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	err = c.with(ctx, func(conn *connection) error {
		number, err = schemaVersion(conn, len(known))
		return err
	})
	return number, err
}

// ClaudeSessions returns the ids of all conversations of Claude that the copy knows.
func (c Copy) ClaudeSessions(ctx context.Context) (ids map[string]bool, err error) {
	ids = map[string]bool{}
	err = c.with(ctx, func(conn *connection) error {
		return view{ctx: ctx, from: only{conn}}.each(`SELECT id FROM claude_sessions`, nil, func(r rows) error {
			var id string
			defer func() { ids[id] = true }()
			return r.Scan(&id)
		})
	})
	return ids, err
}

// counted are the tables whose ids others remember: plugins and networks know items by them, followers what was said.
var counted = []string{"runs", "outbox", "transcript"}

// Continue prepares a copy to be used again, by a host that continues where the copy was made. What was to be sent then may have been sent
// since: its outcome is unknown. What is new gets ids that were never used, neither by the host that went on after the
// copy was made nor by one that was started with the same copy: they continue at the time in milliseconds. It returns how many items
// are to be sent.
func (c Copy) Continue(ctx context.Context, now time.Time) (uncertain int, err error) {
	err = c.with(ctx, func(conn *connection) (err error) {
		end, err := sqlitex.ImmediateTransaction(conn.Conn)
		if err != nil {
			return err
		}
		defer end(&err)
		read := view{ctx: ctx, from: only{conn}}
		if err := read.row(`SELECT COUNT(*) FROM outbox`, nil, &uncertain); err != nil {
			return err
		}
		statements := []string{
			`UPDATE store SET uncertain = uncertain + (SELECT COUNT(*) FROM outbox WHERE uncertain = 0)`,
			`UPDATE outbox SET uncertain = 1`,
			fmt.Sprintf(`UPDATE sqlite_sequence SET seq = MAX(seq + 1000000, %d)`, now.UnixMilli()),
		}
		for _, table := range counted {
			statements = append(statements, fmt.Sprintf(
				`INSERT INTO sqlite_sequence (name, seq) SELECT '%s', %d WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '%[1]s')`,
				table, now.UnixMilli()))
		}
		for _, statement := range statements {
			if err := conn.run(statement); err != nil {
				return err
			}
		}
		return nil
	})
	return uncertain, err
}

// with opens the copy. Afterwards it is one file.
func (c Copy) with(ctx context.Context, use func(*connection) error) (err error) {
	if _, err := os.Stat(c.path); err != nil {
		return err
	}
	conn, err := connect(c.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer conn.SetInterrupt(conn.SetInterrupt(ctx.Done()))
	return use(conn)
}
