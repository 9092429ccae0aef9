package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

func TestLockHolder(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if pid := process.LockHolder(f); pid != 0 {
		t.Errorf("a file without a lock is held by process %d", pid)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if pid := process.LockHolder(f); pid != os.Getpid() {
		t.Errorf("the lock is held by process %d, want this one, %d", pid, os.Getpid())
	}
}
