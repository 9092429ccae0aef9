// Package memory reads how much memory the machine, or the container that this process runs in, has left. Only Linux tells.
package memory

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// State is the memory that this process and its children may use, limited by the machine and by their control groups.
type State struct {
	Total     int64 // bytes
	Available int64 // bytes that programs can get without swapping
	// Stalled is the share of the last ten seconds, in percent, in which at least one process waited for memory; zero: none did, or the
	// system does not tell.
	Stalled float64
}

// Machine is the system whose memory is read. The zero value is the one that this process runs on.
type Machine struct{ root fs.FS }

// Of returns the system with this file tree.
func Of(root fs.FS) Machine { return Machine{root: root} }

// Read returns the state; false: the system does not tell.
func (m Machine) Read() (State, bool) {
	if m.root == nil {
		m = Of(os.DirFS("/"))
	}
	info, err := fs.ReadFile(m.root, "proc/meminfo")
	if err != nil {
		return State{}, false
	}
	total, _ := field(info, "MemTotal:")
	available, ok := field(info, "MemAvailable:")
	if total <= 0 || !ok {
		return State{}, false
	}
	s := State{Total: total << 10, Available: available << 10, Stalled: m.stalled("proc/pressure/memory")}
	memberships, err := fs.ReadFile(m.root, "proc/self/cgroup")
	if err != nil {
		return s, true
	}
	for membership := range strings.Lines(string(memberships)) {
		m.limit(&s, strings.TrimSpace(membership))
	}
	return s, true
}

// limit applies the limits of the control groups of a membership, such as "0::/user.slice", and of those above them. A container may
// see itself as the uppermost group, though its membership names another one.
func (m Machine) limit(s *State, membership string) {
	number, rest, _ := strings.Cut(membership, ":")
	controllers, group, _ := strings.Cut(rest, ":")
	var tree hierarchy
	switch {
	case number == "0" && controllers == "":
		tree = unified
		s.Stalled = max(s.Stalled, m.stalled(path.Join(tree.mount, group, "memory.pressure")))
	case controllers == "memory":
		tree = legacy
	default:
		return
	}
	for group = path.Join("/", group); ; group = path.Dir(group) {
		m.limitBy(s, tree, path.Join(tree.mount, group))
		if group == "/" {
			return
		}
	}
}

// hierarchy is where a version of control groups says what.
type hierarchy struct {
	mount, used, cache string
	limits             []string
}

var (
	unified = hierarchy{"sys/fs/cgroup", "memory.current", "inactive_file", []string{"memory.max", "memory.high"}}
	legacy  = hierarchy{"sys/fs/cgroup/memory", "memory.usage_in_bytes", "total_inactive_file", []string{"memory.limit_in_bytes"}}
)

// limitBy applies the limits of one group. Of what it uses, the system takes back the cache of files that nobody has read lately.
func (m Machine) limitBy(s *State, tree hierarchy, group string) {
	limit := int64(math.MaxInt64)
	for _, name := range tree.limits {
		if n, ok := m.number(path.Join(group, name)); ok {
			limit = min(limit, n)
		}
	}
	used, ok := m.number(path.Join(group, tree.used))
	if limit >= s.Total && !ok {
		return
	}
	s.Total = min(s.Total, limit)
	if !ok {
		return
	}
	if stat, err := fs.ReadFile(m.root, path.Join(group, "memory.stat")); err == nil {
		cache, _ := field(stat, tree.cache)
		used -= min(used, cache)
	}
	s.Available = max(min(s.Available, limit-used), 0)
}

// number is what a file holds; false: no number, such as "max".
func (m Machine) number(name string) (int64, bool) {
	data, err := fs.ReadFile(m.root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// stalled reads a file such as "some avg10=0.12 avg60=…".
func (m Machine) stalled(name string) float64 {
	data, err := fs.ReadFile(m.root, name)
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(data, []byte("some avg10="))
	share, _, _ := bytes.Cut(after, []byte(" "))
	percent, err := strconv.ParseFloat(string(share), 64)
	if err != nil {
		return 0
	}
	return percent
}

// field is the number after a name at the beginning of a line.
func field(text []byte, name string) (n int64, ok bool) {
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
