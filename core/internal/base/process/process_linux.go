package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stat returns the fields of /proc/PID/stat after the command, which may contain anything: the first is the state.
func stat(pid int) ([]string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		err = ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("look at process %d: %w", pid, err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 20 {
		return nil, fmt.Errorf("look at process %d: %d fields", pid, len(fields))
	}
	return fields, nil
}

// Info describes a live process.
type Info struct {
	Parent  int
	Session int    // the pid of its leader, which may be gone
	Started uint64 // in clock ticks since the machine booted
}

// Look returns information about a process, or [ErrGone].
func Look(pid int) (Info, error) {
	fields, err := stat(pid)
	if err != nil {
		return Info{}, err
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return Info{}, fmt.Errorf("look at process %d: %w", pid, ErrGone)
	}
	parent, noParent := strconv.Atoi(fields[1])
	session, noSession := strconv.Atoi(fields[3])
	started, noStart := strconv.ParseUint(fields[19], 10, 64)
	if err := errors.Join(noParent, noSession, noStart); err != nil {
		return Info{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return Info{parent, session, started}, nil
}

// StartTime returns when a process started, as [Look] does.
func StartTime(pid int) (uint64, error) {
	info, err := Look(pid)
	return info.Started, err
}

// Parent returns a process's parent.
func Parent(pid int) (int, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(fields[1])
}

// Environ returns the environment that a process was started with, each variable followed by a zero byte. During execve a
// process has none for a moment; Environ waits for it.
func Environ(pid int) ([]byte, error) {
	const looks, step, sure = 100, time.Millisecond, 4
	none := 0
	for range looks {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		if len(env) > 0 {
			return env, nil
		}
		fields, err := stat(pid)
		if err != nil {
			return nil, err
		}
		// An ended process and a kernel thread have no memory. See proc_pid_stat(5) for the fields.
		const memory, begin, end = 20, 47, 48
		if len(fields) <= end || fields[memory] == "0" {
			return nil, nil
		}
		// During execve the environment is also empty, for less than a microsecond.
		if fields[end] != "0" && fields[begin] == fields[end] {
			none++
		}
		if none == sure {
			return nil, nil
		}
		<-time.After(step)
	}
	return nil, fmt.Errorf("look at process %d: its environment stays empty", pid)
}

// BootID identifies the machine's boot: pids and start times of another one are meaningless.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Conceal prevents other processes of the same user from reading this process's memory and environment.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process not dumpable: %w", err)
	}
	return nil
}

// CloseOnExec keeps what this process inherited, except its standard streams, from the processes that it starts.
func CloseOnExec() error {
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err == nil {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd") // Linux before 5.11
	if err != nil {
		return fmt.Errorf("look at the open files: %w", err)
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
