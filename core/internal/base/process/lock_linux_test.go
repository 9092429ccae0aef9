package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
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

// The kernel's list of locks is read in pieces, between which locks of others come and go.
func TestLockHolderWhileOthersLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	flock := func(f *os.File, how int) {
		if err := unix.Flock(int(f.Fd()), how); err != nil {
			t.Error(err)
		}
	}
	held := create("held")
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	for i := range 4 {
		var files []*os.File
		for j := range 100 {
			files = append(files, create(fmt.Sprintf("other-%d-%d", i, j)))
		}
		others.Go(func() {
			for {
				for _, how := range []int{unix.LOCK_EX, unix.LOCK_UN} {
					for _, f := range files {
						flock(f, how)
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 300 {
		flock(held, unix.LOCK_EX)
		if pid := process.LockHolder(held); pid != os.Getpid() {
			t.Errorf("the lock is held by process %d, want this one, %d", pid, os.Getpid())
		}
		flock(held, unix.LOCK_UN)
	}
}
