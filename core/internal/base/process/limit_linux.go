package process

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Limit permanently limits this process, which must lead its process group: its processor time, rounded up to whole seconds,
// and the memory, in bytes, that it may allocate from now on. It ends when it exceeds a limit. It also gets one processor and a
// low priority, can open and write no files, and leaves no core dump.
func Limit(cpu time.Duration, memory int64) error {
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(memory / 2) // above that, garbage is collected more often
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("limit the process: %w", err)
	}
	data := uint64(memory)
	if _, value, ok := bytes.Cut(status, []byte("VmData:")); ok {
		line, _, _ := bytes.Cut(value, []byte("kB"))
		has, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 64)
		if err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
		data += has << 10
	}
	seconds := uint64(math.Ceil(cpu.Seconds()))
	for resource, most := range map[int]uint64{
		unix.RLIMIT_CPU: seconds, unix.RLIMIT_DATA: data, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: 0,
	} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(resource, &limit); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
		most = min(most, limit.Max) // a hard limit cannot be raised
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	const offset, nice = 20, 10 // the system call returns 20 minus the nice value
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && offset-priority < nice {
		err = unix.Setpriority(unix.PRIO_PGRP, 0, nice)
	}
	if err != nil {
		return fmt.Errorf("limit the process: %w", err)
	}
	return nil
}
