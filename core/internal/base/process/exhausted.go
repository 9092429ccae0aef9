package process

import (
	"errors"
	"slices"
	"syscall"
)

var (
	diskFull = []error{syscall.ENOSPC, syscall.EDQUOT}
	// fork returns EAGAIN if the user or the machine has reached its process limit. Go's files and sockets never return it.
	others = []error{syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN}
)

// Exhausted reports whether an error means that this machine, or the host's user, is out of disk space, memory, open files
// or processes. That is temporary, so the failed operation is retried without counting the attempt.
func Exhausted(err error) bool {
	return DiskFull(err) || isAny(err, others)
}

// DiskFull reports whether an error means that the disk, or the quota of the host's user, is full. Unlike the other
// conditions of [Exhausted], ending a process does not help.
func DiskFull(err error) bool { return isAny(err, diskFull) }

func isAny(err error, list []error) bool {
	return slices.ContainsFunc(list, func(one error) bool { return errors.Is(err, one) })
}
