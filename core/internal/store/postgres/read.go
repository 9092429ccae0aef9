package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// UsedError is the error for a database to which hosts are connected.
type UsedError struct {
	Database    string
	Connections int
}

// Error says what to do.
func (e *UsedError) Error() string {
	return fmt.Sprintf("clawhost uses %s (%d connections): stop every host first; a pooler may keep their connections for some minutes", e.Database, e.Connections)
}

// Name names the database to which a DSN leads, without what is secret in it.
func Name(dsn string) (string, error) {
	config, err := parse(dsn, patience)
	if err != nil {
		return "", err
	}
	of := config.ConnConfig
	return fmt.Sprintf("the database %s at %s", cmp.Or(of.Database, of.User), net.JoinHostPort(of.Host, strconv.Itoa(int(of.Port)))), nil
}

// Unused returns a [UsedError] if hosts are connected to the database to which a DSN leads.
func Unused(ctx context.Context, dsn string) error {
	return connected(ctx, dsn, func(c *pgx.Conn) error { return unused(ctx, dsn, c) })
}

// Read calls f with what the database has to which a DSN leads. No host may be connected to it, else the error is a [UsedError]; one that
// connects meanwhile cannot write until f has returned. It changes nothing, not even the schema. What is read must be read within f.
// Reading may take any time.
func Read(ctx context.Context, dsn string, f func(engine.Querier) error) error {
	return connected(ctx, dsn, func(c *pgx.Conn) error {
		if err := unused(ctx, dsn, c); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY") // so that what is read is newer than the lock
		batch.Queue("SET LOCAL idle_in_transaction_session_timeout = 0")
		batch.Queue("SET LOCAL statement_timeout = 0")
		batch.Queue("SELECT pg_advisory_xact_lock($1)", storeLock)
		if err := c.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return f(engine.NewView(ctx, stream{conn{&DB{}, c}})) // closing the connection ends the transaction
	})
}

// connected calls f with a connection of its own.
func connected(ctx context.Context, dsn string, f func(*pgx.Conn) error) error {
	config, err := parse(dsn, patience)
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer hangUp(c)
	if encoding := c.PgConn().ParameterStatus("server_encoding"); encoding != "" && encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s, which does not hold all texts: make one with the encoding UTF8 and the template template0", encoding)
	}
	return f(c)
}

// The server lists the connection of a process that has ended for a moment.
const (
	usedPatience = 2 * time.Second
	usedPause    = 50 * time.Millisecond
)

// unused waits a moment for hosts that are about to end.
func unused(ctx context.Context, dsn string, c *pgx.Conn) error {
	end := time.After(usedPatience)
	for {
		var others int
		err := c.QueryRow(ctx, `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid != pg_backend_pid() AND starts_with(application_name, $1)`, application).Scan(&others)
		if err != nil || others == 0 {
			return err
		}
		select {
		case <-time.After(usedPause):
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			name, err := Name(dsn)
			if err != nil {
				return err
			}
			return &UsedError{Database: name, Connections: others}
		}
	}
}

// stream reads rows that may be more than anybody waits for. It is an [engine.Reader].
type stream struct{ conn }

// Query implements [engine.Reader]. If scan fails, it does not wait for the rows that are left, and the connection is lost.
func (s stream) Query(ctx context.Context, query string, args []any, scan func(engine.Rows) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.conn.Query(ctx, query, args, func(r engine.Rows) error {
		err := scan(r)
		if err != nil && !errors.Is(err, engine.ErrEnough) {
			cancel()
		}
		return err
	})
}

// identities finds the sequences that number the rows of tables.
const identities = ` FROM pg_sequence s JOIN pg_depend d ON d.objid = s.seqrelid AND d.classid = 'pg_class'::regclass AND d.deptype = 'i'
	JOIN pg_class t ON t.oid = d.refobjid AND d.refclassid = 'pg_class'::regclass WHERE t.relnamespace = current_schema()::regnamespace`

// Counters returns the greatest id that was ever given to a row, by table, of those whose rows are numbered: a new row gets a greater one.
func Counters(from engine.Querier) (map[string]int64, error) {
	counters := map[string]int64{}
	err := from.Each(`SELECT t.relname, COALESCE(pg_sequence_last_value(s.seqrelid), 0)`+identities, nil, func(r engine.Rows) error {
		var table string
		var last int64
		err := r.Scan(&table, &last)
		if last > 0 {
			counters[table] = last
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the greatest ids: %w", err)
	}
	return counters, nil
}

// SetCounter sets such an id. It stays set even if the transaction is undone.
func SetCounter(t *engine.Tx, table string, last int64) error {
	var set int64
	return t.Row(`SELECT setval(s.seqrelid, ?2)`+identities+` AND t.relname = ?1`, []any{table, last}, &set)
}

// Fit returns a text as PostgreSQL keeps it: without NUL, and without bytes that are no UTF-8.
func Fit(text string) string { return storable(text) }
