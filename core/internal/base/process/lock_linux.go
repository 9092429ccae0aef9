package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel hands out its list in pieces and counts entries to find the next one, so a list that gets shorter meanwhile comes
// with entries left out. An entry that is missing from this many readings is taken not to exist.
const lockReadings = 20

// LockHolder returns a process that holds a lock of flock(2) on an open file; zero: none is known.
func LockHolder(f *os.File) int {
	var at unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &at); err != nil {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(at.Dev), unix.Minor(at.Dev), at.Ino)
	for range lockReadings {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			return 0
		}
		if pid := holderOf(file, string(locks)); pid > 0 {
			return pid
		}
	}
	return 0
}

// holderOf finds the holder in the text of /proc/locks of a lock on a file, which is named as there.
func holderOf(file, locks string) int {
	for line := range strings.Lines(locks) {
		// 1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != file {
			continue // a waiting lock has another form
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
