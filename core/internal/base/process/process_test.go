package process_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

func TestAlive(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	pid := cmd.Process.Pid
	started, err := process.StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !process.Alive(pid, started) {
		t.Error("a running process is not alive")
	}
	if process.BootID() != "" && process.Alive(pid, started+1) {
		t.Error("a process with another start time counts as the same")
	}
	if process.BootID() != "" {
		if err := process.End(t.Context(), pid, started+1); err != nil || !process.Alive(pid, started) {
			t.Errorf("the end of an earlier process with this pid: %v, and it is alive: %v", err, process.Alive(pid, started))
		}
	}
	if parent, err := process.Parent(pid); err == nil && parent != os.Getpid() {
		t.Errorf("parent %d, want %d", parent, os.Getpid())
	}
	if err := process.End(t.Context(), pid, started); err != nil {
		t.Fatal(err)
	}
	if _, err := process.StartTime(pid); process.BootID() != "" && !errors.Is(err, process.ErrGone) {
		t.Errorf("look at a process that has ended: %v", err)
	}
	_ = cmd.Wait()
	if process.Alive(pid, started) {
		t.Error("a killed process is alive")
	}
	if err := process.KillGroup(pid); err != nil {
		t.Errorf("kill a group that is gone: %v", err)
	}
}
