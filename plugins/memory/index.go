package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed schema.sql
var schema string

//go:embed one_agent.sql
var oneAgent string

const (
	// schemaVersion is the version of the schema and of the stored data. An index of another version is rebuilt, so it also
	// increases when words, passages or redaction change.
	schemaVersion = 3
	// allAgents is the version of an index with the conversations of all agents. Those of others than main are removed.
	allAgents = 2
	// indexFile is the name of the database in an agent's folder.
	indexFile = "index.db"
)

// errDamaged is the error of an index that must be rebuilt.
var errDamaged = errors.New("the index is damaged")

// index is the database of passages. Its methods are safe for concurrent use.
type index struct {
	write *sql.DB // one connection: SQLite has one writer
	read  *sql.DB
	words *vocabulary
}

// openIndex opens or creates the index in the folder. One that is damaged or of another version is rebuilt, with a warning:
// files are read again, and conversations where the host lets the plugin.
func openIndex(ctx context.Context, folder string, log *slog.Logger) (*index, error) {
	path := filepath.Join(folder, indexFile)
	x, err := tryIndex(ctx, path)
	if !errors.Is(err, errDamaged) {
		return x, err
	}
	log.Warn("rebuilding the index; indexed conversations are read again, or lost without read_transcripts", "reason", err)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove index: %w", err)
		}
	}
	return tryIndex(ctx, path)
}

func tryIndex(ctx context.Context, path string) (_ *index, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite gives its other files the same mode
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	x := &index{words: newVocabulary()}
	defer func() {
		if err != nil {
			err = fmt.Errorf("open index: %w", errors.Join(damage(err), x.close()))
		}
	}()
	if x.write, err = openDatabase(path, "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(1)"); err != nil {
		return nil, err
	}
	x.write.SetMaxOpenConns(1)
	if err := x.migrate(ctx); err != nil {
		return nil, err
	}
	if x.read, err = openDatabase(path, "query_only(1)"); err != nil {
		return nil, err
	}
	x.read.SetMaxOpenConns(2)
	if err := x.loadWords(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// openDatabase opens a file with pragmas for each connection.
func openDatabase(path string, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_pragma": append([]string{"busy_timeout(2000)", "cache_size(-8000)"}, pragmas...), "_txlock": {"immediate"}}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String())
}

// migrate creates the schema in a new file and checks an existing one.
func (x *index) migrate(ctx context.Context) error {
	var version int
	if err := x.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch version {
	case schemaVersion, allAgents:
		var found string
		if err := x.write.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return fmt.Errorf("%w: %s", errDamaged, found)
		}
		if version == allAgents {
			return x.upgrade(ctx, oneAgent)
		}
		return nil
	case 0:
		if err := x.upgrade(ctx, schema); err != nil {
			return fmt.Errorf("%w: make the schema: %w", errDamaged, err) // the file is not from this plugin
		}
		return nil
	default:
		return fmt.Errorf("%w: it has version %d, not %d", errDamaged, version, schemaVersion)
	}
}

// upgrade makes the index one of the current version, by statements.
func (x *index) upgrade(ctx context.Context, statements string) error {
	return x.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statements+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion))
		return err
	})
}

// loadWords loads the vocabulary.
func (x *index) loadWords(ctx context.Context) error {
	rows, err := x.read.QueryContext(ctx, "SELECT term, doc FROM vocabulary")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var word string
		var count int
		if err := rows.Scan(&word, &count); err != nil {
			return err
		}
		x.words.count(word, count)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return x.read.QueryRowContext(ctx, "SELECT count(*) FROM passages").Scan(&x.words.total)
}

// change runs f in a transaction.
func (x *index) change(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := x.write.BeginTx(ctx, nil)
	if err != nil {
		return damage(err)
	}
	if err := f(tx); err != nil {
		return errors.Join(damage(err), ignoreDone(tx.Rollback()))
	}
	return damage(tx.Commit())
}

// close checkpoints and closes the database.
func (x *index) close() error {
	var errs []error
	for _, db := range []*sql.DB{x.read, x.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// ignoreDone drops the error of rolling back a transaction that its context has rolled back.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// damage wraps an error of a damaged database in [errDamaged].
func damage(err error) error {
	found, ok := errors.AsType[*sqlite.Error](err)
	if !ok || errors.Is(err, errDamaged) {
		return err
	}
	// The lowest byte is the primary result code.
	switch code := found.Code() & 0xff; {
	case code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_NOTADB,
		// A missing table: the file is not an index.
		code == sqlite3.SQLITE_ERROR && strings.Contains(found.Error(), "no such table"):
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}
