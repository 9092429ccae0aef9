package process

import (
	"errors"
	"slices"
	"syscall"
)

var (
	diskFull = []error{syscall.ENOSPC, syscall.EDQUOT}
	// EAGAIN is how fork says that the user or the machine has no process left. Go's own files and sockets never return it.
	others = []error{syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN}
)

// Exhausted reports whether an error says that this machine, or what the host's user may use of it, is out of disk space, memory,
// open files or processes. That is nobody's fault and passes, so what failed with it is tried again without being counted.
func Exhausted(err error) bool {
	return DiskFull(err) || isAny(err, others)
}

// DiskFull reports whether an error says that the disk, or the quota of the host's user, is full. Unlike the rest of what [Exhausted]
// reports, ending a process does not help.
func DiskFull(err error) bool { return isAny(err, diskFull) }

func isAny(err error, list []error) bool {
	return slices.ContainsFunc(list, func(one error) bool { return errors.Is(err, one) })
}
