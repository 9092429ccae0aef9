package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Read calls f with what the database at path has at one moment. No DB may have it open, and none can meanwhile: else the error is a
// [LockedError]. It changes nothing, not even the schema. What is read must be read within f.
func Read(ctx context.Context, path string, f func(engine.Querier) error) (err error) {
	defer func() { err = explained(err) }()
	if _, err := os.Stat(path); err != nil {
		return err
	}
	held, err := takeLock(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	return use(ctx, path, func(c *connection) error {
		for _, statement := range []string{"PRAGMA query_only = 1", "BEGIN"} {
			if err := c.run(statement); err != nil {
				return err
			}
		}
		return f(engine.NewView(ctx, c)) // closing the connection ends the transaction
	})
}

// Counters returns the greatest id that was ever given to a row, by table, of those whose rows are numbered: a new row gets a greater one.
func Counters(from engine.Querier) (map[string]int64, error) {
	counters := map[string]int64{}
	err := from.Each(`SELECT name, seq FROM sqlite_sequence WHERE seq > 0`, nil, func(r engine.Rows) error {
		var table string
		var last int64
		err := r.Scan(&table, &last)
		counters[table] = last
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the greatest ids: %w", err)
	}
	return counters, nil
}

// SetCounter sets such an id.
func SetCounter(t *engine.Tx, table string, last int64) error {
	if _, err := t.Exec(`DELETE FROM sqlite_sequence WHERE name = ?1`, table); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)`, table, last)
	return err
}
