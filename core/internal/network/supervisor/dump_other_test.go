//go:build !linux

package supervisor_test

// dumpable is not supported on this system.
func dumpable() int { return 0 }
