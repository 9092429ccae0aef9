package jobs_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/cgroup"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// A job that uses too much memory is ended by the system, and its session learns why; others are not. Without control groups there is no
// limit, and jobs run.
// Behaviour: jobs-memory.
func TestMemoryOfAJob(t *testing.T) {
	t.Parallel()
	_, none := cgroup.Find()
	r := newRig(t)
	r.config.Jobs.Memory = 64 << 20
	for n, command := range []string{"x=$(head -c 200000000 /dev/zero | tr '\\0' x)", "x=$(head -c 1000000 /dev/zero | tr '\\0' x)"} {
		j := r.begin(t, domain.Job{Command: command})
		said := r.await(t, "job:"+[]string{"1", "2"}[n]+":ended")
		const why = "used more memory than a job may here"
		if limited := n == 0 && none == nil; strings.Contains(said, why) != limited || strings.Contains(said, "ended successfully") == limited {
			t.Errorf("of the end of %q is told %q", command, said)
		}
		for j.State == domain.JobRunning {
			var err error
			if j, err = r.store.Job(t.Context(), j.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}
