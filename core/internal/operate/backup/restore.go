package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// Target is where an archive is restored to.
type Target struct {
	StateDir string
	Claude   map[string]string // the CLI's folders, by the labels of their agents
	Main     string            // the CLI's folder for what agents have that are not known here
	Replace  bool              // move what the state folder has out of the way
	Now      time.Time
}

// Restored is what was done.
type Restored struct {
	Summary

	// Aside is the folder with what the state folder had; empty: it had nothing.
	Aside string `json:"aside,omitempty"`
	// Uncertain is how many messages were to be sent at the moment of the archive. Whether they were sent since is not known, so they
	// are sent again.
	Uncertain int `json:"uncertain"`
	// Kept are transcripts that exist already and are as long as the archive's or longer, and stay.
	Kept int `json:"transcripts_kept"`
}

// HoldsError is returned if the state folder has a state, which is not to be replaced.
type HoldsError struct{ Dir string }

// Error says what to do.
func (e *HoldsError) Error() string {
	return fmt.Sprintf("%s has a state already: with -replace it is moved aside, or name another state_dir", e.Dir)
}

// own are the names in the state folder that make it one with a state.
var own = []string{store.File, store.File + "-wal", store.File + "-shm", mediaFolder, exportsFolder, pluginsFolder}

// Restore unpacks an archive, checks all of it, and puts it into place. If it returns an error before that, nothing has changed. If it is
// interrupted while it does that, [Resume] goes on. No host may run. Claude's transcripts go where Claude Code keeps them.
func Restore(ctx context.Context, from io.Reader, to Target) (done Restored, err error) {
	if err := os.MkdirAll(to.StateDir, 0o700); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	lock, err := sqlite.Lock(ctx, filepath.Join(to.StateDir, store.File))
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := resume(ctx, to.StateDir); err != nil {
		return done, fmt.Errorf("finish the restore that was interrupted: %w", err)
	}
	holds, err := holdsState(to.StateDir)
	if err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	if holds && !to.Replace {
		return done, &HoldsError{to.StateDir}
	}
	// The folder may be mounted, so it stays, and what is in it is replaced.
	fresh := filepath.Join(to.StateDir, unpacking)
	if err := errors.Join(os.RemoveAll(fresh), os.Mkdir(fresh, 0o700)); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	if done.Summary, err = unpack(ctx, from, fresh); err != nil {
		return done, err
	}
	if done.Uncertain, err = store.NewCopy(filepath.Join(fresh, filepath.FromSlash(databaseName))).Continue(ctx, to.Now); err != nil {
		return done, fmt.Errorf("restore: %w", err)
	}
	if err := to.transcripts(filepath.Join(fresh, claude), &done); err != nil {
		return done, fmt.Errorf("restore Claude's transcripts: %w", err)
	}
	if holds {
		if done.Aside, err = to.aside(fresh); err != nil {
			return done, fmt.Errorf("restore: move the old state aside: %w", err)
		}
	}
	if err := commit(ctx, to.StateDir, done.Aside); err != nil {
		if done.Aside != "" && exists(fresh) {
			err = errors.Join(err, os.Remove(done.Aside))
		}
		return done, fmt.Errorf("restore: %w", err)
	}
	return done, nil
}

// holdsState reports whether a state folder has something that a backup keeps. Empty folders, as a host makes them, are nothing.
func holdsState(dir string) (bool, error) {
	for _, name := range own {
		info, err := os.Lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if !info.IsDir() {
			return true, nil
		}
		names, err := namesIn(filepath.Join(dir, name))
		if err != nil || len(names) > 0 {
			return true, err
		}
	}
	return false, nil
}

func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, f.Close())
}

// transcripts puts Claude's transcripts into the folders of the CLI. What is there already is newer, unless it is shorter: a transcript
// only grows.
func (t Target) transcripts(from string, done *Restored) error {
	labels, err := namesIn(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, label := range labels {
		dir, known := t.Claude[label]
		if !known {
			dir = t.Main
		}
		if dir == "" {
			return fmt.Errorf("it is unknown where agent %s keeps them: is HOME set?", label)
		}
		if err := os.MkdirAll(filepath.Join(dir, projects), 0o700); err != nil {
			return err
		}
		if err := t.transcriptsOf(filepath.Join(from, label, projects), filepath.Join(dir, projects), done); err != nil {
			return err
		}
	}
	return nil
}

func (t Target) transcriptsOf(from, to string, done *Restored) (err error) {
	root, err := os.OpenRoot(to) // the agent writes there: no link leads out of it
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(filepath.ToSlash(relative)), 0o700); err != nil {
			return err
		}
		switch there, err := root.Lstat(relative); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case there.Mode().IsRegular() && there.Size() >= info.Size():
			if strings.HasSuffix(relative, transcriptEnd) {
				done.Kept++
			}
			return nil
		default:
			if err := root.Rename(relative, relative+".before-"+t.Now.UTC().Format("20060102T150405Z")); err != nil {
				return err
			}
		}
		return copyInto(root, name, relative)
	})
}

// copyInto copies a file to a folder that may be on another disk. A file with the name is complete.
func copyInto(root *os.Root, from, name string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	partly := name + ".restoring"
	if err := root.Remove(partly); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	target, err := root.OpenFile(partly, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err == nil {
		err = target.Sync()
	}
	if err = errors.Join(err, target.Close()); err != nil {
		return errors.Join(err, root.Remove(partly))
	}
	return root.Rename(partly, name)
}
