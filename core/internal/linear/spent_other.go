//go:build !linux

package linear

import "time"

var start = time.Now()

// spent returns the elapsed time, because other systems have no clock for a thread.
func spent() time.Duration { return time.Since(start) }
