package postgrestest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// workers returns the processes that work in a folder, as those of a server do in that of its data.
func workers(dir string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// What has ended works nowhere.
		if cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd")); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// stopped reports whether a process is stopped, or has ended.
func stopped(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:] // after the program's name
	return bytes.HasPrefix(state, []byte(" T")) || bytes.HasPrefix(state, []byte(" Z"))
}
