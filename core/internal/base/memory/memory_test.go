package memory_test

import (
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/clawhost/clawhost/core/internal/base/memory"
)

const (
	gigabyte = 1 << 30
	meminfo  = "MemTotal:       8388608 kB\nMemFree:         100000 kB\nMemAvailable:    4194304 kB\nBuffers: 1 kB\n" // 8 and 4 GB
)

// What is available is what the tightest of the machine and the control groups leaves.
// Behaviour: memory-pressure.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  memory.State
		known bool
	}{
		"another system": {},
		"an old kernel":  {files: map[string]string{"proc/meminfo": "MemTotal: 8388608 kB\n"}},
		"nonsense":       {files: map[string]string{"proc/meminfo": "MemTotal: many kB\nMemAvailable:\n"}},
		"a machine": {
			files: map[string]string{"proc/meminfo": meminfo},
			want:  memory.State{Total: 8 * gigabyte, Available: 4 * gigabyte}, known: true,
		},
		"no limits": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/a.service\n",
				"sys/fs/cgroup/user.slice/a.service/memory.max": "max\n", "sys/fs/cgroup/user.slice/a.service/memory.high": "max\n",
				"sys/fs/cgroup/user.slice/a.service/memory.current": "7516192768\n",
			},
			want: memory.State{Total: 8 * gigabyte, Available: 4 * gigabyte}, known: true,
		},
		"the own group": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/a.service\n",
				"sys/fs/cgroup/user.slice/a.service/memory.max":     "3221225472\n",
				"sys/fs/cgroup/user.slice/a.service/memory.current": "2147483648\n",
				"sys/fs/cgroup/user.slice/a.service/memory.stat":    "anon 1\ninactive_file 1073741824\nactive_file 5\n",
			},
			want: memory.State{Total: 3 * gigabyte, Available: 2 * gigabyte}, known: true,
		},
		"a group above": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/a.service\n",
				"sys/fs/cgroup/user.slice/a.service/memory.max":     "max\n",
				"sys/fs/cgroup/user.slice/a.service/memory.current": "1\n",
				"sys/fs/cgroup/user.slice/memory.high":              "2147483648\n",
				"sys/fs/cgroup/user.slice/memory.current":           "3221225472\n",
			},
			want: memory.State{Total: 2 * gigabyte}, known: true,
		},
		"a container that sees itself as the root": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/0123\n",
				"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.current": "536870912\n",
			},
			want: memory.State{Total: gigabyte, Available: gigabyte / 2}, known: true,
		},
		"groups of version 1": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu,cpuacct:/docker/0123\n2:memory:/docker/0123\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1610612736\n",
				"sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 536870912\n",
			},
			want: memory.State{Total: 2 * gigabyte, Available: gigabyte}, known: true,
		},
		"groups of version 1 without a limit": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "2:memory:/\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1610612736\n",
			},
			want: memory.State{Total: 8 * gigabyte, Available: 4 * gigabyte}, known: true,
		},
		"the machine waits": {
			files: map[string]string{"proc/meminfo": meminfo, "proc/pressure/memory": "some avg10=12.50 avg60=0.00\nfull avg10=50.00 avg60=0.00\n"},
			want:  memory.State{Total: 8 * gigabyte, Available: 4 * gigabyte, Stalled: 12.5}, known: true,
		},
		"the own group waits": {
			files: map[string]string{
				"proc/meminfo": meminfo, "proc/pressure/memory": "some avg10=0.50 avg60=0.00\n", "proc/self/cgroup": "0::/a\n",
				"sys/fs/cgroup/a/memory.pressure": "some avg10=33.00 avg60=0.00\n",
			},
			want: memory.State{Total: 8 * gigabyte, Available: 4 * gigabyte, Stalled: 33}, known: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for path, text := range test.files {
				files[path] = &fstest.MapFile{Data: []byte(text)}
			}
			got, known := memory.Of(files).Read()
			if got != test.want || known != test.known {
				t.Errorf("%+v, %v, want %+v, %v", got, known, test.want, test.known)
			}
		})
	}
}

// This machine has memory, and not more available than it has.
func TestReadThis(t *testing.T) {
	t.Parallel()
	s, known := memory.Machine{}.Read()
	if known != (runtime.GOOS == "linux") {
		t.Fatalf("known is %v", known)
	}
	if known && (s.Total < 64<<20 || s.Available < 0 || s.Available > s.Total) {
		t.Errorf("%+v", s)
	}
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		memory.Machine{}.Read()
	}
}
