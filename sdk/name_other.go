//go:build !linux

package sdk

// nameProcess does nothing here: the process has its program's name.
func nameProcess() error { return nil }
