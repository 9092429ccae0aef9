//go:build !linux

package process

import "golang.org/x/sys/unix"

// Without /proc, processes that have left the process group of a member are not found and outlive it.

func descendants(int, *Family, uint64, ...string) ([]ID, error) { return nil, nil }

// Carries reports false, because this system does not show the environment of processes.
func Carries(int, ...string) (bool, error) { return false, nil }

// Arguments returns nothing, because this system does not show them.
func Arguments(int) []string { return nil }

func now() uint64 { return 0 }

func (p ID) pause() {
	if p.PID > 0 {
		_ = unix.Kill(p.PID, unix.SIGSTOP)
	}
}

func (p ID) kill() {
	if p.PID > 0 {
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
}
