package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock that makes the database at path this process's alone. The kernel lets go of it when the
// process ends, however it ends; closing the file lets go of it too.
func lockFile(name, path string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another clawhost uses %s: stop it first, or give this one a state_dir of its own", path)
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}
