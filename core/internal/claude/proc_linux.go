package claude

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/process"
)

// descendants returns the live processes below root, and those that carry all the variables in their environment though
// their parents are gone. Root itself is not among them. A process that leaves the tree and clears its environment is
// not found: only a control group would hold it.
func descendants(root int, variables ...string) []proc {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]proc{}
	var found []proc
	seen := map[int]bool{root: true, os.Getpid(): true}
	add := func(p proc) {
		if !seen[p.pid] {
			seen[p.pid] = true
			found = append(found, p)
		}
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		parent, err := process.Parent(pid)
		if err != nil {
			continue
		}
		p := newProc(pid)
		if p.pid == 0 {
			continue
		}
		children[parent] = append(children[parent], p)
		if len(variables) > 0 && carries(pid, variables) {
			add(p)
		}
	}
	if root > 0 {
		for _, child := range children[root] {
			add(child)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range children[found[i].pid] {
			add(child)
		}
	}
	return found
}

// carries tells whether a process was started with all the variables. One that ends in "=" may have any value.
func carries(pid int, variables []string) bool {
	env, err := process.Environ(pid)
	if err != nil {
		return false
	}
	env = append([]byte{0}, env...)
	for _, v := range variables {
		want := append([]byte{0}, v...)
		if !strings.HasSuffix(v, "=") {
			want = append(want, 0)
		}
		if !bytes.Contains(env, want) {
			return false
		}
	}
	return true
}

// kill sends SIGKILL to exactly this process: the descriptor is held while the start time is compared, so that a reused
// pid is not hit.
func (p proc) kill() {
	if p.pid <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if p.alive() {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		return
	}
	defer unix.Close(fd)
	if p.alive() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}
