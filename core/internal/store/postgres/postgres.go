// Package postgres is the engine that keeps the database in PostgreSQL, where several hosts use it.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Options are the settings of a DB.
type Options struct {
	Now     func() time.Time // the clock; nil: the server's
	Log     hclog.Logger
	Metrics *metrics.Metrics // count the transactions; nil: nothing does
	// Patience bounds how long a transaction may stand still, and how long an answer of the server may take; zero: ten seconds. So a host
	// that froze, or whose network is gone, holds up the others no longer.
	Patience time.Duration
	// Fence is a query, with one argument, that returns a row as long as this process may write; a step fails with [engine.ErrLapsed] where
	// it returns none. Empty: it always may.
	Fence    string
	FencedBy string // the argument
}

// DB is a database of PostgreSQL. It implements [engine.Engine].
type DB struct {
	pool    *pgxpool.Pool
	id      string // of this process, in what it announces
	options Options
	hub     engine.Hub
	texts   sync.Map     // statements as the steps write them, and as PostgreSQL reads them
	ahead   atomic.Int64 // by how many nanoseconds the server's clock is ahead of this machine's

	turn    chan struct{}   // holds a value while a step runs
	closing context.Context // ends when Close is called
	stop    context.CancelFunc
	mu      sync.Mutex // guards begun against Close
	close   sync.Once
	begun   sync.WaitGroup // steps, and the listener
}

const (
	// mostConnections bounds the connections of a host to the server, besides the one that listens.
	mostConnections = 8
	// patience is the default of Options.Patience.
	patience = 10 * time.Second
	// application is what the name begins with by which the server lists a connection.
	application = "clawhost"
)

// Open connects to the database that a DSN or URL names and brings its schema up to date by the migrations. The error is
// [engine.ErrNewer] for a database of a newer clawhost. The context applies only to the opening.
func Open(ctx context.Context, dsn string, migrations fs.FS, opts Options) (_ *DB, err error) {
	opts.Patience = cmp.Or(opts.Patience, patience)
	config, err := parse(dsn, opts.Patience)
	if err != nil {
		return nil, err
	}
	config.MaxConns = mostConnections
	closing, stop := context.WithCancel(context.WithoutCancel(ctx))
	db := &DB{id: newID(), options: opts, turn: make(chan struct{}, 1), closing: closing, stop: stop}
	if db.options.Log == nil {
		db.options.Log = hclog.NewNullLogger()
	}
	if db.pool, err = pgxpool.NewWithConfig(closing, config); err != nil {
		stop()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if err := db.migrate(ctx, migrations); err != nil {
		return nil, err
	}
	listener, err := db.listener(ctx)
	if err != nil {
		return nil, err
	}
	db.begun.Go(func() { db.listen(listener) })
	return db, nil
}

// parse reads a DSN.
func parse(dsn string, patience time.Duration) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the DSN of the database cannot be read, or a file that it names: it is a URL such as postgres://user@server/name, or words such as host=server dbname=name")
	}
	hosts := []string{config.ConnConfig.Host}
	for _, other := range config.ConnConfig.Fallbacks {
		hosts = append(hosts, other.Host)
	}
	if slices.ContainsFunc(hosts, far) && !strings.Contains(dsn, "sslmode=") && os.Getenv("PGSSLMODE") == "" {
		return nil, errors.New("the DSN of the database names another machine and no sslmode, so the connection may not be encrypted: add sslmode=verify-full, or another mode")
	}
	// A statement is described once and not kept by its name, which a pooler that changes servers between transactions forgets.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	config.ConnConfig.ConnectTimeout = patience
	// It tells the connections of hosts from those of other programs.
	config.ConnConfig.RuntimeParams["application_name"] = strings.TrimSpace(application + " " + config.ConnConfig.RuntimeParams["application_name"])
	return config, nil
}

// far reports whether a host may be another machine than this one.
func far(host string) bool {
	ip := net.ParseIP(host)
	return !strings.HasPrefix(host, "/") && !strings.HasPrefix(host, "@") && host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// View implements [engine.Engine].
func (db *DB) View(ctx context.Context) engine.View { return engine.NewView(ctx, pooled{db}) }

// Watch implements [engine.Engine].
func (db *DB) Watch(topic engine.Topic) (<-chan struct{}, func()) { return db.hub.Watch(topic) }

// Now implements [engine.Engine]: it is the server's clock, as the last transaction has seen it.
func (db *DB) Now() time.Time {
	if db.options.Now != nil {
		return db.options.Now()
	}
	return time.Now().Add(time.Duration(db.ahead.Load()))
}

// Statements implements [engine.Engine].
func (db *DB) Statements() (texts []string) {
	db.texts.Range(func(text, _ any) bool {
		texts = append(texts, text.(string))
		return true
	})
	return texts
}

// Tables implements [engine.Engine].
func (db *DB) Tables(ctx context.Context) ([]engine.Table, int, error) {
	return Tables(db.View(ctx))
}

// Tables does as the method of a DB does.
func Tables(from engine.Querier) ([]engine.Table, int, error) {
	return engine.ReadTables(from, `SELECT t.relname, c.attname, format_type(c.atttypid, NULL), COALESCE(array_position(k.indkey::smallint[], c.attnum) + 1, 0)
		FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
		LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
		WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p')
		ORDER BY t.relname COLLATE "C", c.attnum`, map[string]string{"text": engine.Text, "bytea": engine.Bytes})
}

// Compact implements [engine.Engine]: it writes all tables again. What was deleted may still be in the server's log and backups.
func (db *DB) Compact() error {
	if !db.begin() {
		return engine.ErrClosed
	}
	defer db.begun.Done()
	tables, _, err := db.Tables(db.closing)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := db.pool.Exec(db.closing, "VACUUM FULL "+pgx.Identifier{table.Name}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("write a table again: %w", err)
		}
	}
	return nil
}

// Close implements [engine.Engine].
func (db *DB) Close() error {
	db.close.Do(func() {
		db.mu.Lock()
		db.stop()
		db.mu.Unlock()
		db.begun.Wait()
		db.pool.Close()
	})
	return nil
}

// begin reports whether a step may begin. The caller calls db.begun.Done when it has ended.
func (db *DB) begin() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closing.Err() != nil {
		return false
	}
	db.begun.Add(1)
	return true
}
