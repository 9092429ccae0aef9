package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// CanWeigh reports whether [Scale.Weigh] works on this system.
const CanWeigh = true

// Weigh returns the memory of processes and of their descendants. Shared memory of the claude processes counts once;
// their tools may be many and are measured in a faster way, which counts it for each. Processes that left the tree are
// ignored.
func (Scale) Weigh(roots []ID) map[ID]Weight {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, err := process.Parent(pid); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	weights := map[ID]Weight{}
	for _, root := range roots {
		own, ok := proportional(root.PID)
		if !ok || !root.Alive() {
			continue
		}
		w := Weight{Own: own}
		below := slices.Clone(children[root.PID])
		for i := 0; i < len(below); i++ {
			w.Below += resident(below[i])
			below = append(below, children[below[i]]...)
		}
		weights[root] = w
	}
	return weights
}

// proportional is a process's memory with its share of shared pages, or its resident memory on systems that do not
// report that.
func proportional(pid int) (bytes int64, ok bool) {
	rollup, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err == nil {
		if kilobytes, ok := field(rollup, "Pss:"); ok {
			return kilobytes << 10, true
		}
	}
	bytes = resident(pid)
	return bytes, bytes > 0
}

// resident is a process's memory including all shared pages.
func resident(pid int) int64 {
	statm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
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
