package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// descendants returns what [Descendants] does and, with a family, also the family's strays that belong to root. Strays that
// started before since do not belong to it; zero: no limit.
func descendants(root int, f *Family, since uint64, variables ...string) (_ []ID, unsure error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	below := map[int][]ID{}
	var found []ID
	host := os.Getpid()
	seen := map[int]bool{root: true, host: true}
	add := func(p ID) {
		if !seen[p.PID] {
			seen[p.PID] = true
			found = append(found, p)
		}
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		info, err := Look(pid)
		if err != nil {
			if Exhausted(err) {
				unsure = err
			}
			continue
		}
		p := ID{PID: pid, Started: info.Started}
		below[info.Parent] = append(below[info.Parent], p)
		ends := false
		if len(variables) > 0 {
			ends, err = Carries(pid, variables...)
		}
		if err == nil && !ends && f != nil && info.Parent == host {
			ends, err = f.stray(p, info.Session, root, since)
		}
		if err != nil {
			unsure = err
		}
		if ends {
			add(p)
		}
	}
	if root > 0 {
		for _, child := range below[root] {
			add(child)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range below[found[i].PID] {
			add(child)
		}
	}
	return found, unsure
}

// stray reports whether an adopted child of the host, which is in this session of the system, ends with the member at root: it
// is in root's session, or it belongs to no other running member and did not start before since. With root 0 it reports
// whether the child was adopted and belongs to no running member.
func (f *Family) stray(p ID, session, root int, since uint64) (bool, error) {
	switch {
	case f.children == nil || f.children.Own(p.PID) || f.children.Had(p.PID):
		return false, nil
	case session == root:
		return true, nil
	case f.children.Own(session) || p.Started < since:
		return false, nil
	}
	marked, err := f.marked(p.PID)
	return !marked && err == nil, err
}

// marked reports whether a process carries the marks of this host process and of a running member.
func (f *Family) marked(pid int) (bool, error) {
	env, err := environ(pid)
	if err != nil {
		return false, err
	}
	own, member := false, ""
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := bytes.Cut(variable, []byte{'='})
		switch string(name) {
		case f.marks.Host:
			own = string(value) == f.mark
		case f.marks.Name:
			member = string(value)
		}
	}
	return own && f.runs(member), nil
}

// environ returns a process's environment, or nothing if it is not readable. An error means that this may be temporary.
func environ(pid int) ([]byte, error) {
	env, err := Environ(pid)
	if Exhausted(err) {
		return nil, err
	}
	return env, nil
}

// Carries reports whether a process was started with all the variables. One that ends in "=" matches any value.
func Carries(pid int, variables ...string) (bool, error) {
	env, err := environ(pid)
	if err != nil {
		return false, err
	}
	env = append([]byte{0}, env...)
	for _, v := range variables {
		want := append([]byte{0}, v...)
		if !strings.HasSuffix(v, "=") {
			want = append(want, 0)
		}
		if !bytes.Contains(env, want) {
			return false, nil
		}
	}
	return true, nil
}

// Arguments returns the command line of a process, or nothing if it is not known.
func Arguments(pid int) []string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// pause sends SIGSTOP to exactly this process.
func (p ID) pause() { p.signal(unix.SIGSTOP) }

// kill sends SIGKILL to exactly this process: it holds a descriptor while it compares the start time, so that a reused
// pid is not hit.
func (p ID) kill() { p.signal(unix.SIGKILL) }

func (p ID) signal(s unix.Signal) {
	if p.PID <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		if p.certain() {
			_ = unix.Kill(p.PID, s)
		}
		return
	}
	defer unix.Close(fd)
	if p.certain() {
		_ = unix.PidfdSendSignal(fd, s, nil, 0)
	}
}

// certain reports whether exactly this process is known to run.
func (p ID) certain() bool {
	started, err := StartTime(p.PID)
	return err == nil && started == p.Started
}

// now returns the start time of a process that starts at this moment, in clock ticks since the machine booted.
func now() uint64 {
	var since unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &since); err != nil {
		return 0
	}
	const tick = 10 * time.Millisecond
	return uint64(time.Duration(since.Nano()) / tick)
}
