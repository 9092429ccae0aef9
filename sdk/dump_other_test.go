//go:build !linux

package sdk_test

// dumpable has no answer here; the sdk does nothing about it on this system.
func dumpable() int { return 0 }
