package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// held waits until a turn's tool runs "hold NAME". The tool reads a pipe until its writing end, which is the gate, is closed.
func (s *stage) held(_ *testscript.TestScript, args []string) error {
	if _, open := s.gates[args[0]]; open {
		return fmt.Errorf("%s is held already", args[0])
	}
	path := filepath.Join(s.dir, args[0]+".gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a gate: %w", err)
	}
	ctx, cancel := s.await()
	defer cancel()
	// Opening the pipe waits for its reader. If none comes, being one oneself ends the wait.
	stop := context.AfterFunc(ctx, func() {
		if reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			defer reader.Close()
		}
	})
	gate, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open a gate: %w", err)
	}
	if !stop() {
		return errors.Join(fmt.Errorf("nothing is held at %s: %w", args[0], ctx.Err()), gate.Close())
	}
	s.gates[args[0]] = gate
	return nil
}

// release lets what is held go on.
func (s *stage) release(_ *testscript.TestScript, args []string) error {
	if s.gates[args[0]] == nil {
		return fmt.Errorf("nothing is held at %s", args[0])
	}
	defer delete(s.gates, args[0])
	return s.gates[args[0]].Close()
}
