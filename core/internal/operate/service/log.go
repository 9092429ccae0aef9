package service

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// maxLine limits a line of the log, in bytes.
const maxLine = 1 << 20

// Log prints the newest lines of the service's log, and with follow those that come until ctx ends.
func (s *Service) Log(ctx context.Context, lines int, follow bool, printLine func(string)) error {
	unit := "--unit="
	if s.PerUser {
		unit = "--user-unit="
	}
	c := command{"journalctl", "--no-pager", "--quiet", fmt.Sprintf("--lines=%d", lines), unit + Unit}
	if follow {
		c = append(c, "--follow")
	}
	complaint := &process.Beginning{Most: maxOutput}
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.Stderr, cmd.WaitDelay = complaint, outputTimeout
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return &CommandError{c.String(), "", err}
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		printLine(strings.ToValidUTF8(scanner.Text(), "?"))
	}
	unread := scanner.Err()
	if unread != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil // a person has seen enough
	case unread != nil:
		return fmt.Errorf("read the log: %w", unread)
	case err != nil:
		return &CommandError{c.String(), firstLine(complaint), err}
	}
	return nil
}
