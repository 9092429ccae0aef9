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
// their parents are gone, with what is below them. Root itself is not among them. Of what the host has adopted it returns
// what left the tree and carries no mark of any claude's, too: nobody can tell whose it was.
func descendants(root int, children *process.Children, variables ...string) []proc {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	below := map[int][]proc{}
	var found []proc
	host := os.Getpid()
	seen := map[int]bool{root: true, host: true}
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
		info, err := process.Look(pid)
		if err != nil {
			continue
		}
		p := proc{pid: pid, started: info.Started}
		below[info.Parent] = append(below[info.Parent], p)
		if len(variables) > 0 && carries(pid, variables) || info.Parent == host && stray(pid, info.Session, root, children) {
			add(p)
		}
	}
	if root > 0 {
		for _, child := range below[root] {
			add(child)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range below[found[i].pid] {
			add(child)
		}
	}
	return found
}

// stray reports whether a child of the host's is an adopted one that ends with the claude at root: it is in that one's
// session, or neither in that of another process of the host's nor marked as another claude's.
func stray(pid, session, root int, children *process.Children) bool {
	if children == nil || children.Own(pid) {
		return false
	}
	return session == root || !children.Own(session) && !carries(pid, []string{marker + "="})
}

// carries reports whether a process was started with all the variables. One that ends in "=" may have any value.
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
