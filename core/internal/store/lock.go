package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock makes a database this process's alone. The kernel lets go of it when the process ends, however it ends.
type lock []*os.File

// takeLock locks the database at path by a file beside it, which says whose lock it is, and by its folder, which nobody
// removes by mistake.
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

// Close lets go of the lock.
func (l lock) Close() error {
	var errs []error
	for _, f := range l {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
