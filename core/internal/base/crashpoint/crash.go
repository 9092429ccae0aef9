//go:build crashpoints

package crashpoint

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// named returns the point that CLAWHOST_CRASH_POINT names and how many passes are left until the process ends, written
// as "3:result".
var named = sync.OnceValues(func() (name string, left *atomic.Int64) {
	var times int64
	_, _ = fmt.Sscanf(os.Getenv("CLAWHOST_CRASH_POINT"), "%d:%s", &times, &name)
	left = &atomic.Int64{}
	left.Store(times)
	return name, left
})

// Pass kills the process, as kill -9 would, at the configured pass of the point.
func Pass(point string) {
	if name, left := named(); point != name || left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal may take a moment
}
