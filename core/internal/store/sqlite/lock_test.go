package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// A host that was killed while it started a process may leave its locks to that one for a moment. The next host waits for it,
// but not for a host that goes on.
func TestLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		held time.Duration
		want string
	}{
		"by a process that executes its program soon": {held: lockPatience / 2},
		"by another host": {held: 2 * lockPatience, want: "another clawhost (process "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			synctest.Test(t, func(t *testing.T) {
				held, err := os.Create(path + ".lock")
				if err != nil {
					t.Fatal(err)
				}
				if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
					t.Fatal(err)
				}
				released := time.AfterFunc(tt.held, func() { _ = held.Close() })
				defer released.Stop()
				l, err := takeLock(t.Context(), path)
				switch {
				case tt.want == "" && err != nil:
					t.Error(err)
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("%v, want %q", err, tt.want)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
