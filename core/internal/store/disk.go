package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// explained adds an explanation to SQLite errors on which an operator must act. A full disk is [syscall.ENOSPC], as for
// a file.
func explained(err error) error {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Code() & 0xff { // the rest tells where it occurred
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the disk failed to read or write: look at the system's log; what was not written is tried again: %w", err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the database does not read as it was written, mostly because the disk failed: look at the system's log, stop the host, and if the disk is sound go back to a backup: %w", err)
	default:
		return err
	}
}
