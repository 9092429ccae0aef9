package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

const (
	// commandTimeout limits a command. It is longer than TimeoutStartSec of the unit, which limits the start of a host.
	commandTimeout = 11 * time.Minute
	// outputTimeout limits the wait for output once a command has ended.
	outputTimeout = time.Second
	// maxOutput limits what is read of a command's output, in bytes.
	maxOutput = 64 << 10
	// maxComplaint limits the line of a command's errors that is shown, in bytes.
	maxComplaint = 500
)

// CommandError is a command that failed.
type CommandError struct {
	Command   string // as a person would type it
	Complaint string // the first line of its errors; empty: none
	Err       error
}

// Error implements error.
func (e *CommandError) Error() string {
	if e.Complaint == "" {
		return fmt.Sprintf("`%s` failed: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("`%s` failed: %s", e.Command, e.Complaint)
}

// Unwrap returns why it failed.
func (e *CommandError) Unwrap() error { return e.Err }

// command is a program with its arguments, which no shell reads.
type command []string

// String is the command as a person would type it.
func (c command) String() string {
	words := make([]string, len(c))
	for i, word := range c {
		words[i] = word
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
			words[i] = process.Quoted(word)
		}
	}
	return strings.Join(words, " ")
}

// Line is a command as a person types it into a shell.
func Line(words ...string) string { return command(words).String() }

// plain reports whether a shell takes a character as it is.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r)
}

func (c command) do(ctx context.Context, _ *Service) error {
	_, err := run(ctx, c)
	return err
}

// run runs a command and returns the beginning of its output, in English and in UTC. The error is a [CommandError].
func run(ctx context.Context, c command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, complaint := &process.Beginning{Most: maxOutput}, &process.Beginning{Most: maxOutput}
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "SYSTEMD_COLORS=0")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaint, outputTimeout
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.String(), &CommandError{c.String(), firstLine(complaint), err}
}

// code is the exit code of a command that failed; zero: it did not run.
func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// firstLine is the first line that is not empty.
func firstLine(b *process.Beginning) string {
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSpace(line); line != "" {
			return strings.ToValidUTF8(line[:min(len(line), maxComplaint)], "")
		}
	}
	return ""
}
