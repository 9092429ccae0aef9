package sqlite

import (
	"fmt"
	"syscall"

	"zombiezen.com/go/sqlite"
)

// explained adds an explanation to SQLite errors on which an operator must act. A full disk is [syscall.ENOSPC], as for
// a file.
func explained(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr:
		return fmt.Errorf("the disk failed to read or write: look at the system's log; what was not written is tried again: %w", err)
	case sqlite.ResultFull:
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fmt.Errorf("the database does not read as it was written, mostly because the disk failed: look at the system's log, stop the host, and if the disk is sound go back to a backup: %w", err)
	default:
		return err
	}
}
