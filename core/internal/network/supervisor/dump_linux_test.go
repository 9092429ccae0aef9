package supervisor_test

import "golang.org/x/sys/unix"

// dumpable returns whether other processes of the same user can read this one's memory: 0 is no.
func dumpable() int {
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return -1
	}
	return n
}
