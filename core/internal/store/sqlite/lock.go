package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// lock gives this process exclusive use of a database. The kernel releases it when the process ends, in any way.
type lock []*os.File

// LockedError is the error for a database that another process has open.
type LockedError struct {
	Path string
	PID  int // of the process; zero: unknown
}

// Error names the process.
func (e *LockedError) Error() string {
	who := "another clawhost"
	if e.PID > 0 {
		who = fmt.Sprintf("%s (process %d)", who, e.PID)
	}
	return fmt.Sprintf("%s uses %s: stop it first, or give this one a state_dir of its own", who, e.Path)
}

// A process that was killed while it started another one leaves its locks to that one until it executes its program, which
// takes some milliseconds, more on a busy machine.
const (
	lockPatience = 2 * time.Second
	lockPause    = 5 * time.Millisecond
)

// takeLock locks the database at path by a file next to it, which names the lock's owner, and by its folder, which
// is not deleted by mistake. It waits a moment for a process that is about to end.
func takeLock(ctx context.Context, path string) (_ lock, err error) {
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
		if err := waitForLock(ctx, f); errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &LockedError{Path: path, PID: process.LockHolder(f)}
		} else if err != nil {
			return nil, fmt.Errorf("lock %s: %w", name.path, err)
		}
	}
	return l, nil
}

func waitForLock(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return err
		}
	}
}

// Close releases the lock.
func (l lock) Close() error {
	var errs []error
	for _, f := range l {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
