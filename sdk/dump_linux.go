package sdk

import "golang.org/x/sys/unix"

// forbidDump prevents other processes of the same user, including the agent's shell, from reading this process's memory and
// environment.
func forbidDump() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
