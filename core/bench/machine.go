package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of the times in /proc on common Linux machines.
const clockTick = 10 * time.Millisecond

// cpu is the processor time that a process has used, without its children.
func cpu(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	const user, system = 11, 12 // counted from the field after the name
	var sum time.Duration
	for _, i := range []int{user, system} {
		ticks, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * clockTick
	}
	return sum, nil
}

// memory is a process's memory in kilobytes: all resident pages, its proportional share of them, and those that no other process has.
type memory struct{ rss, pss, own int }

func memoryOf(pid int) (memory, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return memory{}, err
	}
	var m memory
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		var kilobytes int
		switch fields[0] {
		case "Rss:", "Pss:", "Private_Clean:", "Private_Dirty:":
			kilobytes, err = strconv.Atoi(fields[1])
		}
		switch fields[0] {
		case "Rss:":
			m.rss = kilobytes
		case "Pss:":
			m.pss = kilobytes
		case "Private_Clean:", "Private_Dirty:":
			m.own += kilobytes
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// times returns the machine's processor times since its start, in ticks: busy and all.
func times() (busy, all int, err error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	const idle, waiting = 3, 4
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, err
		}
		all += n
		if i != idle && i != waiting {
			busy += n
		}
	}
	return busy, all, nil
}

// busyFor is the use of the machine over a period, in percent.
func busyFor(d time.Duration) (int, error) {
	busy, all, err := times()
	if err != nil {
		return 0, err
	}
	<-time.After(d)
	busyAfter, allAfter, err := times()
	if err != nil {
		return 0, err
	}
	return 100 * (busyAfter - busy) / max(1, allAfter-all), nil
}

// usage is the processor time of the machine and of this program at one moment.
type usage struct {
	busy, all int           // ticks of the machine
	own       time.Duration // of this program and of children that it has waited for
}

func usageNow() (u usage, err error) {
	if u.busy, u.all, err = times(); err != nil {
		return u, err
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return u, err
		}
		u.own += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return u, nil
}

// othersSince is the share of the machine that other processes have used since before, in percent.
func othersSince(before usage) (int, error) {
	now, err := usageNow()
	if err != nil {
		return 0, err
	}
	others := now.busy - before.busy - int((now.own-before.own)/clockTick)
	return max(0, 100*others/max(1, now.all-before.all)), nil
}

// quiet waits, for a limited time, until others leave the machine idle, and reports how busy it is.
func quiet(wait time.Duration) (string, error) {
	const look, low = 500 * time.Millisecond, 10
	for began := time.Now(); ; {
		busy, err := busyFor(look)
		if err != nil {
			return "", err
		}
		if busy < low || time.Since(began) > wait {
			load, err := os.ReadFile("/proc/loadavg")
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("machine %d %% busy before, load %s", busy, strings.Fields(string(load))[0]), nil
		}
	}
}

// machine describes the machine.
func machine() (string, error) {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	model := "unknown processor"
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	sync, err := syncTime()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, %d × %s, %s; one fsync in %s: %s",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, runtime.Version(), os.TempDir(), millis(sync)), nil
}

// syncTime is how long the disk takes to sync four kilobytes.
func syncTime() (time.Duration, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var took sample
	for range 100 {
		began := time.Now()
		if _, err := file.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return took.median(), nil
}
