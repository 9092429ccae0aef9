package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// codeLocked is the code of the finding that another process has the database.
const codeLocked = "database_locked"

// existing returns a path, or the first folder above it that exists.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// findState examines the state folder, its disk and the database.
func findState(ctx context.Context, o Options) []Finding {
	dir := o.Config.StateDir
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return findSpace(existing(dir)) // the host makes the folder; whether it can, the check of the config says
	}
	list := findSpace(dir)
	if info.Mode().Perm()&0o077 != 0 {
		list = append(list, open("state_open", fmt.Sprintf("other users may look into %s, which has all conversations", dir), dir, 0o700))
	}
	path := filepath.Join(dir, store.File)
	if _, err := os.Stat(path); err == nil && o.Host == nil {
		list = append(list, findDatabase(ctx, o, path, maxVerify))
	}
	return list
}

// maxVerify limits the check of a database, during which no host can start. It reads some gigabytes in that time.
const maxVerify = 20 * time.Second

func findDatabase(ctx context.Context, o Options, path string, most time.Duration) Finding {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := store.Verify(limited, path)
	locked, isLocked := errors.AsType[*sqlite.LockedError](err)
	switch {
	case err == nil:
		return good("database", "the database is whole")
	case isLocked:
		return lockedBy(locked, o.HostErr)
	case limited.Err() != nil:
		return warning("database_unchecked", fmt.Sprintf("%s is so large that %s were not enough to check it", path, most),
			fmt.Sprintf("Have SQLite check it, while no host runs: `sqlite3 %s 'PRAGMA quick_check'`", process.Quoted(path)))
	case errors.Is(err, engine.ErrNewer):
		return fault("database_newer", path+": "+err.Error(), "Install that version again, or restore the backup from before the upgrade: \"Upgrade\" in docs/operations.md.")
	case errors.Is(err, engine.ErrUnfinished):
		return fault("database_unfinished", path+": "+err.Error(), "\"To PostgreSQL, and back\" in docs/operations.md says more.")
	}
	return fault("database", path+": "+err.Error(), "Restore the newest backup: \"Backup\" in docs/operations.md.")
}

// lockedBy is the fault that another process has the database open, and does not answer as a host.
func lockedBy(e *sqlite.LockedError, why error) Finding {
	text, advice := e.Error()+". It does not answer at its control socket", ""
	if why != nil {
		text += ": " + why.Error()
	}
	if e.PID > 0 {
		advice = fmt.Sprintf("`ps -fp %[1]d` shows it. If it does not start or end just now, `kill %[1]d` ends it.", e.PID)
	}
	return fault(codeLocked, text, advice)
}
