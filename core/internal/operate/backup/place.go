package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// The folder of a restore in the state folder has a name for each of its stages. Each rename to the next one is one step, so that what
// was interrupted in a stage can be done again.
const (
	unpacking = "restore-unpacking" // nothing else has changed
	moving    = "restore-moving"    // the old state is moved aside
	placing   = "restore-placing"   // the new one is moved into place
)

// asideName is the file in the folder of a restore with the path to which the old state is moved.
const asideName = "aside"

// aside makes a folder for the old state, beside the state folder, or in it where nothing can be moved there.
func (t Target) aside(fresh string) (string, error) {
	stamp := t.Now.UTC().Format("20060102T150405Z")
	var failed error
	for _, aside := range []string{filepath.Clean(t.StateDir) + ".before-" + stamp, filepath.Join(t.StateDir, "before-"+stamp)} {
		if err := os.Mkdir(aside, 0o700); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		// If one file can be moved there, so can the others.
		err := os.WriteFile(filepath.Join(fresh, asideName), nil, 0o600)
		if err == nil {
			err = os.Rename(filepath.Join(fresh, asideName), filepath.Join(aside, asideName))
		}
		if err == nil {
			return aside, os.Remove(filepath.Join(aside, asideName))
		}
		failed = errors.Join(failed, err, os.Remove(aside))
	}
	return "", failed
}

// commit has what is unpacked replace the state, which is moved aside unless there is none.
func commit(ctx context.Context, stateDir, aside string) error {
	fresh := filepath.Join(stateDir, unpacking)
	if err := writeSynced(filepath.Join(fresh, asideName), aside); err != nil {
		return err
	}
	if err := syncFolder(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, filepath.Join(stateDir, moving)); err != nil {
		return err
	}
	if err := syncFolder(stateDir); err != nil {
		return err
	}
	return resume(ctx, stateDir)
}

func writeSynced(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Resume completes a restore that was interrupted while it put the archive into place. It is to be called before anything else looks at
// the state folder. The error is a [sqlite.LockedError] if the restore is still at it.
func Resume(ctx context.Context, stateDir string) (err error) {
	if !exists(filepath.Join(stateDir, moving)) && !exists(filepath.Join(stateDir, placing)) {
		return nil
	}
	lock, err := sqlite.Lock(ctx, filepath.Join(stateDir, store.File))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := resume(ctx, stateDir); err != nil {
		return fmt.Errorf("finish the restore that was interrupted: %w", err)
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func resume(ctx context.Context, stateDir string) error {
	from, to := filepath.Join(stateDir, moving), filepath.Join(stateDir, placing)
	if exists(from) {
		aside, err := os.ReadFile(filepath.Join(from, asideName))
		if err == nil && len(aside) > 0 {
			err = moveAll(ctx, own, stateDir, string(aside))
		}
		if err == nil {
			err = os.Rename(from, to)
		}
		if err == nil {
			err = syncFolder(stateDir)
		}
		if err != nil {
			return err
		}
	}
	if !exists(to) {
		return nil
	}
	// The database is the last: without it, the state is visibly incomplete.
	if err := moveAll(ctx, []string{mediaFolder, exportsFolder, pluginsFolder, store.File}, filepath.Join(to, stateName), stateDir); err != nil {
		return err
	}
	return errors.Join(os.Chmod(stateDir, 0o700), os.RemoveAll(to))
}

// moveAll moves those of the names that exist. An empty folder of the name, as a host makes it, is replaced.
func moveAll(ctx context.Context, names []string, from, to string) error {
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		if !exists(source) {
			continue
		}
		if info, err := os.Lstat(target); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is there already", target)
		}
		if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // another process has just filled it
		}
		if err := os.Rename(source, target); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(from), syncFolder(to))
}
