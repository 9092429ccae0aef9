package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/process"
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

func TestEnvironWithoutEnvironment(t *testing.T) {
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

// A process that cannot be looked at is not taken for one that is gone, and is not killed either.
func TestAliveWithoutDescriptors(t *testing.T) { apart(t, "without descriptors") }

func withoutDescriptors() error {
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	pid := cmd.Process.Pid
	started, err := process.StartTime(pid)
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		return err
	}
	_, look := process.StartTime(pid)
	alive := process.Alive(pid, started)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	end := process.End(ctx, pid, started)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if !errors.Is(look, unix.EMFILE) || !alive || !errors.Is(end, context.DeadlineExceeded) {
		return fmt.Errorf("without descriptors it is alive: %v (%v), and is ended: %v", alive, look, end)
	}
	if now, err := process.StartTime(pid); err != nil || now != started {
		return fmt.Errorf("a process that could not be looked at was killed: %v", err)
	}
	return nil
}

// Processes do not inherit what this one has inherited.
func TestCloseOnExec(t *testing.T) {
	secret, err := os.CreateTemp(t.TempDir(), "inherited")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	apart(t, "closes", secret)
}

func closes() error {
	inherited := func() (bool, error) {
		cmd := exec.Command("readlink", "/proc/self/fd/3")
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = nil
		}
		return bytes.Contains(out, []byte("inherited")), err
	}
	if is, err := inherited(); err != nil || !is {
		return fmt.Errorf("before, a child has the file: %v, %v, want true", is, err)
	}
	if err := process.CloseOnExec(); err != nil {
		return err
	}
	if is, err := inherited(); err != nil || is {
		return fmt.Errorf("a child has the file: %v, %v, want false", is, err)
	}
	return nil
}
