package supervisor

import (
	"os/exec"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// A process that another process has waited for leaves no state, and ends all the same.
func TestAChildWithoutState(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	close(done)
	c := &child{cmd: &exec.Cmd{}, guard: &guard{log: hclog.NewNullLogger()}, done: done}
	if err := c.Wait(t.Context()); err == nil || err.Error() != c.ended() || c.killed() {
		t.Errorf("Wait: %v, ended: %s, killed: %v", err, c.ended(), c.killed())
	}
}
