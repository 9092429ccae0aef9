package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// A status says what memory is left, and why processes were parked.
func TestMemoryInStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, memoryInStatus) // in which time stands still
}

func memoryInStatus(t *testing.T) {
	const megabyte = 1 << 20
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for name, test := range map[string]struct {
		claude admin.Claude
		want   [][]string
	}{
		"unknown": {},
		"no limit": {
			claude: admin.Claude{MachineMemory: 8000 * megabyte, AvailableMemory: 5000 * megabyte},
			want:   [][]string{{"memory", "claude uses 0 MB; 5000 MB of 8000 MB are available"}},
		},
		"all": {
			claude: admin.Claude{
				Memory: 300 * megabyte, MaxMemory: 4000 * megabyte, MachineMemory: 8000 * megabyte, AvailableMemory: 5000 * megabyte,
				Parked: []admin.Parked{{At: ago(12 * time.Second), Session: "telegram:1001", Why: "shortage"}, {At: ago(time.Minute), Why: "unheard of"}},
			},
			want: [][]string{
				{"memory", "claude uses 300 MB of at most 4000 MB; 5000 MB of 8000 MB are available"},
				{"parked claude", "telegram:1001 12s ago: the machine's memory was short"},
				{"parked claude", "no session 1m0s ago: unheard of"},
			},
		},
	} {
		if diff := cmp.Diff(test.want, memoryRows(test.claude)); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", name, diff)
		}
	}
}
