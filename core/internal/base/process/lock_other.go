//go:build !linux

package process

import "os"

// LockHolder does not know who holds a lock here.
func LockHolder(*os.File) int { return 0 }
