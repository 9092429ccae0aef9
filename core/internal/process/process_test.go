package process_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/process"
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
	if parent, err := process.Parent(pid); err == nil && parent != os.Getpid() {
		t.Errorf("parent %d, want %d", parent, os.Getpid())
	}
	if err := process.End(t.Context(), pid, started); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if process.Alive(pid, started) {
		t.Error("a killed process is alive")
	}
	if err := process.KillGroup(pid); err != nil {
		t.Errorf("kill a group that is gone: %v", err)
	}
}
