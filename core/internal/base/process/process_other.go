//go:build !linux

package process

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// StartTime returns zero for a live process: this system has no start times.
func StartTime(pid int) (uint64, error) {
	err := syscall.Kill(pid, 0)
	if errors.Is(err, syscall.ESRCH) {
		err = ErrGone
	}
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return 0, nil
}

// Parent is not supported on this system.
func Parent(pid int) (int, error) {
	return 0, fmt.Errorf("the parent of process %d is unknown on this system", pid)
}

// BootID is not supported on this system.
func BootID() string { return "" }

// listener does not know which process listens here.
func listener(netip.AddrPort) (pid int, name string) { return 0, "" }

// Conceal does nothing here.
func Conceal() error { return nil }

func relaxTimers() (undo func()) { return func() {} }

// Seal does nothing here.
func Seal(string, io.Writer) (*Program, error) {
	return nil, fmt.Errorf("%w: this needs Linux", ErrNotSealed)
}

// Executable returns the path of this process's program.
func Executable() (string, error) { return os.Executable() }

// Self returns the path by which a child executes this process's program; empty: it is unknown.
func Self() string {
	path, _ := os.Executable()
	return path
}

// Limit limits the processor time of this process, rounded up to whole seconds. It also gets one processor and a low priority,
// and can write no files. The memory is not limited; above half of it, garbage is collected more often.
func Limit(cpu time.Duration, memory int64) error {
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(memory / 2)
	seconds := uint64(math.Ceil(cpu.Seconds()))
	return errors.Join(
		syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds}),
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}),
		syscall.Setpriority(syscall.PRIO_PGRP, 0, 10),
	)
}

// Sealed reports false: there are no sealed copies here.
func Sealed() bool { return false }

// Readable returns false: this is unknown on this system.
func Readable() bool { return false }

// Below is not supported on this system.
func Below(pid, _ int) (bool, error) {
	return false, fmt.Errorf("the ancestors of process %d are unknown on this system", pid)
}

func childrenOf(int) map[int]uint64 { return nil }

func adopt() error { return errors.New("this system has no way to adopt processes") }

func (c *Children) reap() {}

// HoldBelow returns false: only Linux shows who holds a connection.
func HoldBelow(_, _ netip.AddrPort, _ []int) (bool, error) { return false, nil }

// ConnectionUser returns this process's user: the creator is unknown on this system.
func ConnectionUser(_, _ netip.AddrPort) (int, error) { return os.Geteuid(), nil }

// CloseOnExec keeps what this process inherited, except its standard streams, from the processes that it starts.
func CloseOnExec() error {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("look at the open files: %w", err)
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
