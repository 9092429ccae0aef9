package process_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/process"
)

// A process that runs one program after the other has its environment all the time.
func TestEnvironOfAProcessThatRunsAnotherProgram(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("exec sh \"$0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Env = []string{"MARK=it"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for n := range 3000 {
		env, err := process.Environ(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(env, []byte("MARK=it\x00")) {
			t.Fatalf("look %d: the environment is %q", n, env)
		}
	}
}

func TestEnvironOfWhatHasNone(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "100")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if env, err := process.Environ(cmd.Process.Pid); err != nil || len(env) != 0 {
		t.Errorf("without an environment it is %q, %v", env, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := process.Environ(cmd.Process.Pid); err == nil {
		t.Error("a process that is gone has an environment")
	}
}
