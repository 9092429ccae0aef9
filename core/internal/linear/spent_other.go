//go:build !linux

package linear

import "time"

// start is when the tests began.
var start = time.Now()

// spent returns the time since then: other systems have no clock of a thread.
func spent() time.Duration { return time.Since(start) }
