package process

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what leaves the process tree: %w", err)
	}
	return nil
}

// childrenOf returns the start times of a process's children, by pid.
func childrenOf(parent int) map[int]uint64 {
	found := map[int]uint64{}
	entries, _ := os.ReadDir("/proc") // on error, no children are known
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if info, err := Look(pid); err == nil && info.Parent == parent {
			found[pid] = info.Started
		}
	}
	return found
}

// reap waits for adopted processes that have ended. An ended process of Start may hide others; they are found after Wait
// has waited for it.
func (c *Children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		pid := firstEnded()
		if pid == 0 || c.own[pid] != nil {
			return
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil {
			return
		}
	}
}

// firstEnded returns the pid of a child that has ended, without waiting for it; zero without one.
func firstEnded() int {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return 0
	}
	// The union after the first three numbers is aligned like a pointer.
	child := (*struct {
		signal, errno, code int32
		_                   [0]uintptr
		pid                 int32
	})(unsafe.Pointer(&info))
	return int(child.pid)
}
