package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock gives this process exclusive use of a database. The kernel releases it when the process ends, in any way.
type lock []*os.File

// takeLock locks the database at path by a file beside it, which names the lock's owner, and by its folder, which
// nobody deletes by mistake.
func takeLock(path string) (_ lock, err error) {
	var l lock
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	for _, name := range []struct {
		path string
		flag int
	}{{path + ".lock", os.O_RDWR | os.O_CREATE}, {filepath.Dir(path), os.O_RDONLY}} {
		f, err := os.OpenFile(name.path, name.flag, 0o600)
		if err != nil {
			return nil, err
		}
		l = append(l, f)
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another clawhost uses %s: stop it first, or give this one a state_dir of its own", path)
		} else if err != nil {
			return nil, fmt.Errorf("lock %s: %w", name.path, err)
		}
	}
	return l, nil
}

// Close releases the lock.
func (l lock) Close() error {
	var errs []error
	for _, f := range l {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
