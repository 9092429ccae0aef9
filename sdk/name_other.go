//go:build !linux

package sdk

// nameProcess does nothing: on this system the process has its program's name.
func nameProcess() error { return nil }
