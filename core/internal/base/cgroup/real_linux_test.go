package cgroup_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/cgroup"
)

// A process that needs more memory than its group may have is killed, and others are not.
func TestALimitOfMemory(t *testing.T) {
	t.Parallel()
	place, err := cgroup.Find()
	if err != nil {
		t.Skip(err)
	}
	for memory, dies := range map[int64]bool{32 << 20: true, 1 << 30: false} {
		g := place.Group("clawhost-test-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(memory, 10))
		if err := g.Limit(memory); err != nil {
			t.Fatal(err)
		}
		// The shell waits for its input, so that it is in the group before it begins.
		command := exec.CommandContext(t.Context(), "sh", "-c", `read x; x=$(head -c 100000000 /dev/zero | tr '\0' x); test ${#x} = 100000000`)
		input, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		if err := g.Add(command.Process.Pid); err != nil {
			t.Fatal(err)
		}
		_ = input.Close()
		ended := command.Wait()
		if (ended != nil) != dies || g.Exhausted() != dies {
			t.Errorf("with %d bytes it ends with %v, and exhausted is %t", memory, ended, g.Exhausted())
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
}
