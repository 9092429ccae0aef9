package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ScratchFolder is the name of the folder in the state folder for the copies that a backup makes while it works. A host that starts
// meanwhile leaves it alone.
const ScratchFolder = "backup"

// scratch is a folder for the copies of one backup. Its process holds a lock on it, so that the next backup can tell what an interrupted
// one has left.
type scratch struct {
	dir  string
	lock *os.File
}

// newScratch makes a folder, and removes those of backups that were interrupted.
func newScratch(stateDir string) (_ *scratch, err error) {
	parent := filepath.Join(stateDir, ScratchFolder)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	all, err := locked(parent, syscall.LOCK_EX) // only while folders are made and removed
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		left, err := locked(path, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue // another backup works there
		}
		if err := errors.Join(os.RemoveAll(path), left.Close()); err != nil {
			return nil, fmt.Errorf("remove what an interrupted backup has left: %w", err)
		}
	}
	dir, err := os.MkdirTemp(parent, "copy-")
	if err != nil {
		return nil, err
	}
	lock, err := locked(dir, syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil, err
	}
	return &scratch{dir, lock}, nil
}

// locked opens a folder and locks it until it is closed.
func locked(path string, how int) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// remove removes the folder.
func (s *scratch) remove() error { return errors.Join(os.RemoveAll(s.dir), s.lock.Close()) }
