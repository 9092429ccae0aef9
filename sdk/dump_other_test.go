//go:build !linux

package sdk_test

// dumpable is not supported on this system.
func dumpable() int { return 0 }
