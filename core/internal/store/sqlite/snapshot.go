package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// snapshotPages are copied between two looks at the context: 64 MB at most.
	snapshotPages = 1000
	// snapshotPatience is how long a snapshot waits for a lock. A database that is locked for longer is locked for good.
	snapshotPatience = 2 * time.Second
	// snapshotTries is how often the files of a database that is locked for good are read until they did not change meanwhile.
	snapshotTries = 50
	// settled is how old the last change of a file must be for the next one to have another time.
	settled = 20 * time.Millisecond
)

// IsDatabase reports whether a file that begins so is a database of SQLite.
func IsDatabase(beginning []byte) bool {
	return bytes.HasPrefix(beginning, []byte("SQLite format 3\x00"))
}

// Snapshot copies a database of SQLite, the host's or a plugin's, to a file that does not exist yet, as it is at one moment. Other
// processes may use it meanwhile, and write. A plugin's may be locked for good, as by WhatsApp's: then its files are copied.
func Snapshot(ctx context.Context, from, to string) error {
	err := snapshotOnline(ctx, from, to)
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultBusy || code == sqlite.ResultLocked {
		if err = os.Remove(to); err == nil {
			err = snapshotFiles(ctx, from, to)
		}
	}
	if err != nil {
		return fmt.Errorf("copy the database %s: %w", from, explained(err))
	}
	return nil
}

// snapshotOnline reads within one transaction, which no writer waits for.
func snapshotOnline(ctx context.Context, from, to string) (err error) {
	if err := create(to); err != nil {
		return err
	}
	source, err := sqlite.OpenConn(from, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	source.SetBusyTimeout(snapshotPatience)
	read := &connection{Conn: source, prepared: map[string]*sqlite.Stmt{}}
	for _, statement := range []string{"PRAGMA query_only = 1", "BEGIN", "SELECT COUNT(*) FROM sqlite_schema"} {
		if err := read.run(statement); err != nil {
			return err
		}
	}
	target, err := connect(to, "journal_mode = OFF", "synchronous = OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	backup, err := sqlite.NewBackup(target.Conn, "main", source, "main")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backup.Close()) }()
	for more := true; more; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if more, err = backup.Step(snapshotPages); err != nil {
			return err
		}
	}
	return nil
}

// create creates an empty file that only its owner can read. SQLite gives its side files the same mode.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// snapshotFiles copies the files of a database that a process has for itself. While that process only adds to the write-ahead log, the
// database and the part of the log that was read are a state that it had: the end of the log is checked when it is read. If a file
// was rewritten meanwhile, they are copied again.
func snapshotFiles(ctx context.Context, from, to string) error {
	const log = "-wal"
	for range snapshotTries {
		before, err := versionOf(from)
		if err == nil {
			err = errors.Join(copyFile(from, to), copyFile(from+log, to+log))
		}
		if err != nil {
			return errors.Join(err, os.RemoveAll(to), os.RemoveAll(to+log))
		}
		after, err := versionOf(from)
		if err == nil && before.equal(after) {
			return whole(to)
		}
		if err := errors.Join(err, os.RemoveAll(to), os.RemoveAll(to+log)); err != nil {
			return err
		}
		select {
		case <-time.After(settled):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errors.New("it is locked, and changes all the time")
}

// version is what changes when the files of a database are rewritten.
type version struct {
	changed time.Time
	size    int64
	log     []byte // the log's header, which changes when the log begins again
	old     bool   // changed is long enough ago for a later change to have another time
}

func (v version) equal(other version) bool {
	return v.old && v.changed.Equal(other.changed) && v.size == other.size && bytes.Equal(v.log, other.log)
}

func versionOf(path string) (version, error) {
	info, err := os.Stat(path)
	if err != nil {
		return version{}, err
	}
	v := version{changed: info.ModTime(), size: info.Size(), old: time.Since(info.ModTime()) > settled}
	f, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	const header = 32
	v.log, err = io.ReadAll(io.LimitReader(f, header))
	return v, errors.Join(err, f.Close())
}

// copyFile copies a file, if there is one.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}

// whole makes a copy of several files one file.
func whole(path string) error {
	c, err := connect(path)
	if err != nil {
		return err
	}
	return errors.Join(c.run("PRAGMA wal_checkpoint(TRUNCATE)"), c.Close())
}
