// Package cgroup limits the memory of processes by control groups of Linux, where the host may make some: below a group that systemd has
// delegated to it (version 2), or below its own (version 1).
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Place is a control group in which the host may make others.
type Place struct {
	dir     string
	unified bool // it is of version 2
}

// Find returns the place of this process. The error says why there is none, and what to do.
func Find() (Place, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Place{}, errors.New("this system has no control groups")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Place{}, fmt.Errorf("read the mounts: %w", err)
	}
	return find(string(own), string(mounts), delegated)
}

// find returns the place of a process with these files of /proc.
func find(own, mounts string, delegated func(dir string) bool) (Place, error) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if strings.Contains(","+parts[1]+",", ",memory,") {
			dir, ok := mounted(mounts, "cgroup", "memory", parts[2])
			if !ok || syscall.Access(dir, writable) != nil {
				return Place{}, errors.New("the host may not make control groups in its own")
			}
			return Place{dir: dir}, nil
		}
	}
	for line := range strings.Lines(own) {
		path, is := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !is {
			continue
		}
		dir, ok := mounted(mounts, "cgroup2", "", path)
		parent := filepath.Dir(dir)
		if !ok || path == "/" || !delegated(parent) {
			return Place{}, errors.New("no control group is delegated to the host: a service of systemd 254 or later needs " +
				"Delegate=memory, DelegateSubgroup=host and ProtectControlGroups=no")
		}
		return Place{dir: parent, unified: true}, nil
	}
	return Place{}, errors.New("this system has no control groups for memory")
}

// writable is the mode of access(2) in which something can be made in a folder.
const writable = 2 | 1

// mounted returns the folder of a control group, by its path in the hierarchy of a type and, in version 1, with a controller.
func mounted(mounts, kind, controller, path string) (string, bool) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields, of := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(of) < 3 || of[0] != kind || controller != "" && !strings.Contains(","+of[2]+",", ","+controller+",") {
			continue
		}
		root, at := fields[3], fields[4]
		if rest, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/")); below {
			return filepath.Join(at, rest), true
		}
	}
	return "", false
}

// delegated reports whether systemd has delegated a control group of version 2 to this process.
func delegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return syscall.Access(dir, writable) == nil
		}
	}
	return false
}

// Group is a control group that the host has made, or may make. The zero Group does not exist.
type Group struct {
	dir     string
	unified bool
}

// Group returns the group with a name, which need not exist.
func (p Place) Group(name string) Group { return Group{filepath.Join(p.dir, name), p.unified} }

// Limit makes the group, if it does not exist, and limits the memory of all its processes together, in bytes.
func (g Group) Limit(memory int64) error {
	if err := os.Mkdir(g.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a control group: %w", err)
	}
	name := "memory.limit_in_bytes"
	if g.unified {
		name = "memory.max"
		if err := os.WriteFile(filepath.Join(filepath.Dir(g.dir), "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
			return fmt.Errorf("switch on limits of memory below the control group that is delegated to the host: %w", err)
		}
	}
	if err := g.write(name, memory); err != nil {
		return fmt.Errorf("limit the memory of a control group: %w", err)
	}
	return nil
}

// Add puts a process into the group, with all that it will start.
func (g Group) Add(pid int) error {
	if err := g.write("cgroup.procs", int64(pid)); err != nil {
		return fmt.Errorf("put a process into a control group: %w", err)
	}
	return nil
}

func (g Group) write(name string, value int64) error {
	return os.WriteFile(filepath.Join(g.dir, name), strconv.AppendInt(nil, value, 10), 0)
}

// Exhausted reports whether the kernel has killed a process of the group because the memory was used up.
func (g Group) Exhausted() bool {
	if g == (Group{}) {
		return false
	}
	name := "memory.oom_control"
	if g.unified {
		name = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if count, is := strings.CutPrefix(line, "oom_kill "); is {
			return strings.TrimSpace(count) != "0"
		}
	}
	return false
}

// removeTime is how long the last processes of a group may take to leave it after their end.
const removeTime = 2 * time.Second

// Remove removes the group, whose processes must have ended. One that does not exist is no error.
func (g Group) Remove() error {
	if g == (Group{}) {
		return nil
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(removeTime); ; {
		err := os.Remove(g.dir)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil
		case !errors.Is(err, syscall.EBUSY):
			return fmt.Errorf("remove a control group: %w", err)
		}
		select {
		case <-again.C:
		case <-late:
			return fmt.Errorf("remove a control group: %w", err)
		}
	}
}
