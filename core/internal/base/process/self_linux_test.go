package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/programtest"
)

// A process executes its own program again, whatever happened to its file, though no other process of its user can read it.
func TestSelf(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]string{"its file": "again", "a sealed copy": "again from a copy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "self") // t.TempDir is closed to others
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "program")
			content, err := os.ReadFile(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			programtest.Write(t, path, string(content))
			mode := os.FileMode(0o111)
			if play == "again from a copy" {
				mode = 0o755 // the copy is made by the program itself
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), path)
			cmd.Env = append(os.Environ(), part+"="+play)
			if os.Getuid() == 0 {
				cmd.SysProcAttr = ordinary(t)
			}
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "the same program\n" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// again executes this program while its file is another one.
func again() error {
	if err := process.Conceal(); err != nil {
		return err
	}
	path, err := process.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		if err := os.Remove(path); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho another program\n"), 0o755); err != nil {
			return err
		}
	}
	var family *process.Family
	var out bytes.Buffer
	cmd := exec.CommandContext(context.Background(), process.Self())
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{part + "=says"}, &out, &out
	if err := family.Run(cmd, "again"); err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	fmt.Print(out.String())
	return nil
}

func againFromACopy() error {
	if err := process.Conceal(); err != nil {
		return err
	}
	path, err := process.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(part, "again in a copy"); err != nil {
		return err
	}
	return process.Exec(path, os.Args, os.Environ())
}

func againInACopy() error {
	if !process.Sealed() && os.Getuid() != 0 {
		return errors.New("it does not run from a sealed copy")
	}
	return again()
}

func says() error {
	fmt.Println("the same program")
	return nil
}

// What limits itself ends, or fails, beyond its limits.
func TestLimit(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(error) bool{
		"spins":  func(err error) bool { return signalled(err, syscall.SIGKILL) },
		"grows":  func(err error) bool { return err != nil && !signalled(err, syscall.SIGKILL) },
		"writes": func(err error) bool { return err == nil },
		"lowers": func(err error) bool { return err == nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var family *process.Family
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), process.Self())
			cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), part+"="+name), &out, &out
			cmd.Dir = t.TempDir()
			if name == "lowers" && os.Getuid() == 0 { // who may raise limits
				cmd.Dir, cmd.SysProcAttr = "/", ordinary(t)
			}
			if err := family.Run(cmd, "limited"); !ends(err) {
				t.Errorf("it ends with %v: %.1000s", err, out.String())
			}
			if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > 10*time.Second {
				t.Errorf("it has used %v of a processor", used)
			}
		})
	}
}

func signalled(err error, by syscall.Signal) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == by
}

func limited() error { return process.Limit(time.Second, 64<<20) }

func spins() error {
	if err := limited(); err != nil {
		return err
	}
	for {
		if time.Now().IsZero() {
			return nil
		}
	}
}

func grows() error {
	if err := limited(); err != nil {
		return err
	}
	var all [][]byte
	for range 1 << 10 {
		more := make([]byte, 1<<20)
		for i := 0; i < len(more); i += 4096 { // each page: each byte would use up the processor time first
			more[i] = 1
		}
		all = append(all, more)
	}
	return fmt.Errorf("%d MB fit", len(all))
}

func writes() error {
	file, err := os.Create("before")
	if err != nil {
		return err
	}
	if err := limited(); err != nil {
		return err
	}
	if n, err := file.WriteString("x"); err == nil {
		return fmt.Errorf("%d bytes were written to a file", n)
	}
	if _, err := os.Open("before"); err == nil {
		return errors.New("a file was opened")
	}
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil || priority > 20-10 {
		return fmt.Errorf("its priority is %d, %w", 20-priority, err)
	}
	return nil
}

// lowers limits itself where less is allowed already, and the priority is lower.
func lowers() error {
	low := unix.Rlimit{Cur: 1, Max: 1}
	if err := errors.Join(unix.Setrlimit(unix.RLIMIT_CPU, &low), unix.Setpriority(unix.PRIO_PGRP, 0, 15)); err != nil {
		return err
	}
	return process.Limit(time.Minute, 64<<20)
}
