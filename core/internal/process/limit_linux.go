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

// Limit limits this process for good: the time that it may use of a processor, in whole seconds, and the memory that it may
// use beside what it has already. It runs on one processor, after other processes, writes no file, opens none and leaves no
// core. It must lead its process group. Beyond the limits it ends.
func Limit(cpu time.Duration, memory int64) error {
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(memory / 2) // collect garbage more often before the memory ends
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
		most = min(most, limit.Max) // which nobody may raise
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	const least, most = 20, 10 // the system returns the priority as 20 minus what is set
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && least-priority < most {
		err = unix.Setpriority(unix.PRIO_PGRP, 0, most)
	}
	if err != nil {
		return fmt.Errorf("limit the process: %w", err)
	}
	return nil
}
