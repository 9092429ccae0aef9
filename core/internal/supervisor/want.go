package supervisor

import (
	"errors"
	"slices"
	"syscall"
)

// errWant marks a failure that is the host's and not the plugin's.
var errWant = errors.New("the host lacks what it needs")

// wants are what the system says when the host has no more disk, memory, open files or processes.
var wants = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN,
}

// wanting reports whether a plugin failed for what the host lacks. It is waited out and never counted against the plugin.
func wanting(err error) bool {
	return errors.Is(err, errWant) || slices.ContainsFunc(wants, func(want error) bool { return errors.Is(err, want) })
}
