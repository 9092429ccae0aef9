//go:build !linux

package sdk

import "errors"

// forbidDump knows no way on this system.
func forbidDump() error { return errors.ErrUnsupported }
