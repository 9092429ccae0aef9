package process_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// ordinary has a process run as a user without privileges, of whom nothing else runs.
func ordinary(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start processes of another user")
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64901, Gid: 64901}}
}

// sleeper is a program that lives until it is killed.
func sleeper(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// environOf is what another process of the same user reads of a process's environment.
func environOf(t *testing.T, path string) (string, error) {
	t.Helper()
	cmd := &exec.Cmd{Path: path, Args: []string{"sleep", "100"}, Env: []string{"SECRET=canary"}, SysProcAttr: ordinary(t)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	reader := exec.Command("cat", "/proc/"+strconv.Itoa(cmd.Process.Pid)+"/environ")
	reader.SysProcAttr = ordinary(t)
	out, err := reader.Output()
	return string(out), err
}

func TestSealedProgramCannotBeRead(t *testing.T) {
	t.Parallel()
	path := sleeper(t)
	if got, err := environOf(t, path); err != nil || got != "SECRET=canary\x00" {
		t.Fatalf("of the program itself: %q, %v", got, err)
	}
	sealed, err := process.Seal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sealed.Close()
	if got, err := environOf(t, sealed.Path); err == nil || got != "" {
		t.Errorf("of the sealed copy: %q, %v, want it refused", got, err)
	}
}

func TestSealedProgramIsWhatWasHashed(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(sleeper(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, want, 0o700); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	sealed, err := process.Seal(path, sum)
	if err != nil {
		t.Fatal(err)
	}
	defer sealed.Close()
	if err := os.WriteFile(path, []byte("exchanged"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sealed.Path, []byte("changed"), 0); err == nil {
		t.Error("the copy can be written to")
	}
	got, err := os.ReadFile(sealed.Path) // as root
	if os.Getuid() == 0 && (err != nil || !bytes.Equal(got, want)) {
		t.Errorf("the copy has %d bytes, %v, want the %d of the program", len(got), err, len(want))
	}
	if hash := sha256.Sum256(want); !bytes.Equal(sum.Sum(nil), hash[:]) {
		t.Error("the sum is not the copy's")
	}
}

func TestScriptIsNotSealed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Seal(path, nil); !errors.Is(err, process.ErrNotSealed) {
		t.Errorf("a script: %v, want ErrNotSealed", err)
	}
	if _, err := process.Seal(filepath.Join(t.TempDir(), "missing"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program: %v, want ErrNotExist", err)
	}
}

// A program without the permission to be executed gets none by being copied. Root needs it of anybody.
func TestWhatMustNotBeExecutedIsNotSealed(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(sleeper(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Seal(path, nil); !errors.Is(err, process.ErrNotExecutable) {
		t.Errorf("%v, want ErrNotExecutable", err)
	}
}

// What starts a process moves descriptors in the child, which must not hit the copy.
func TestSealedProgramStartsBesideAnyDescriptors(t *testing.T) { apart(t, "seals") }

func seals() error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	var open []*os.File
	for range 8 {
		f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		open = append(open, f)
	}
	sealed, err := process.Seal(path, nil)
	if err != nil {
		return err
	}
	defer sealed.Close()
	// The output is just before what would be the copy's descriptor, as Seal had the program open meanwhile. Below there is
	// space for the
	output, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer output.Close()
	for _, f := range open {
		if err := f.Close(); err != nil {
			return err
		}
	}
	cmd := &exec.Cmd{Path: sealed.Path, Args: []string{"true"}, Stdout: output}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("start %s with the output %d: %w", sealed.Path, output.Fd(), err)
	}
	return nil
}
