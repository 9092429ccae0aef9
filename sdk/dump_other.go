//go:build !linux

package sdk

import "errors"

// forbidDump is not supported on this system.
func forbidDump() error { return errors.ErrUnsupported }
