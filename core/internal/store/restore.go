package store

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// Verify reports what is wrong with the database at path, which no Store may have open: a [sqlite.LockedError], [engine.ErrNewer],
// [engine.ErrUnfinished], or that it does not read as it was written. It reads the whole file and changes nothing. `clawhost doctor` calls
// it.
func Verify(ctx context.Context, path string) error {
	if err := sqlite.Verify(ctx, path, migrations.SQLite()); err != nil {
		return err
	}
	return sqlite.Read(ctx, path, func(from engine.Querier) error {
		if _, schema, err := sqlite.Tables(from); err != nil || schema == 0 { // its first migration was interrupted
			return err
		}
		_, err := id(from)
		return err
	})
}

// A Copy is a snapshot of a host's database that nobody uses.
type Copy struct{ path string }

// NewCopy returns the copy at path. A missing file is an error of each method.
func NewCopy(path string) Copy { return Copy{path} }

// Schema returns the number of the copy's schema. That of a newer clawhost is [engine.ErrNewer].
func (c Copy) Schema(ctx context.Context) (int, error) {
	return sqlite.Schema(ctx, c.path, migrations.SQLite())
}

// ClaudeSessions returns the ids of all conversations of Claude that the copy knows.
func (c Copy) ClaudeSessions(ctx context.Context) (map[string]bool, error) {
	ids := map[string]bool{}
	err := sqlite.Edit(ctx, c.path, func(t *engine.Tx) error {
		return t.Each(`SELECT id FROM claude_sessions`, nil, func(r engine.Rows) error {
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
	err = sqlite.Edit(ctx, c.path, func(t *engine.Tx) error {
		if err := t.Row(`SELECT COUNT(*) FROM outbox`, nil, &uncertain); err != nil {
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
			if _, err := t.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	return uncertain, err
}
