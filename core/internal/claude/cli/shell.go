package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

// guarded runs the line that is its argument in the shell that is its name, once the host has recorded the process. In addition to
// the line waits a guard for the end of the pipe, which is the end of the host: the line must not outlive it. The guard is
// no child of the line's, which might wait for its children.
const guarded = `read -r _ <&3 || exit 1
( { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & )
exec 3<&-
exec "$0" -c "$1"`

// Records keep the processes that the next host process has to end.
type Records interface {
	RecordProcess(ctx context.Context, p domain.Process) error
	DeleteProcess(ctx context.Context, pid int, startTime uint64) error
}

// Line is a line of the shell.
type Line struct {
	Name   string // distinguishes it from all other lines and sessions
	Text   string
	Stdout io.Writer
	Stderr io.Writer // may be the same
	// Outlives says that the line goes on when the host is killed, for what must not be left half done and ends soon.
	Outlives bool
}

// Shell runs a line in the workspace, by bash or else by sh, and returns its exit code. It has a session of its own and
// neither the host's environment nor claude's, and nothing that it starts outlives it. When ctx ends, it is killed and the
// error is ctx's cause.
func (c *Command) Shell(ctx context.Context, l Line, records Records) (code int, err error) {
	shell := FindShell()
	if l.Outlives {
		command := exec.CommandContext(ctx, shell, "-c", l.Text)
		member, err := c.start(command, l)
		if err != nil {
			return 0, err
		}
		return ended(ctx, member.Wait(), nil, nil)
	}
	wait, release, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("start a shell: %w", err)
	}
	defer release.Close()
	defer wait.Close()
	command := exec.CommandContext(ctx, "/bin/sh", "-c", guarded, shell, l.Text)
	command.ExtraFiles = []*os.File{wait}
	member, err := c.start(command, l)
	if err != nil {
		return 0, err
	}
	pid := command.Process.Pid
	self, err := process.Identify(pid)
	if err == nil {
		err = records.RecordProcess(ctx, domain.Process{
			Kind: "shell", Name: l.Name, PID: self.PID, StartTime: self.Started, BootID: process.BootID(), Mark: c.family.Mark(),
		})
	}
	if err == nil {
		_, err = release.WriteString("\n")
	}
	if err != nil {
		_ = process.KillGroup(pid)
	}
	end := member.Wait()
	return ended(ctx, end, err, records.DeleteProcess(context.WithoutCancel(ctx), pid, self.Started))
}

func (c *Command) start(command *exec.Cmd, l Line) (*process.Member, error) {
	command.Dir, command.Env = c.workspace, ShellEnvironment()
	command.Stdout, command.Stderr = l.Stdout, l.Stderr
	member, err := c.family.Start(command, l.Name)
	if err != nil {
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	return member, nil
}

// ended returns the exit code of an ended line, or why it has none. Begun is the error with which it did not begin, and forgotten the
// one with which its record was deleted.
func ended(ctx context.Context, end, begun, forgotten error) (code int, err error) {
	switch exit, failed := errors.AsType[*exec.ExitError](end); {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case begun != nil:
		return 0, fmt.Errorf("start a shell: %w", begun)
	case failed:
		return ExitCode(exit), forgotten
	case end != nil && !errors.Is(end, exec.ErrWaitDelay):
		return 0, fmt.Errorf("run a line of the shell: %w", end)
	}
	return 0, forgotten
}

// ExitCode returns the code as a shell shows it: that of a signal is above 128.
func ExitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// FindShell returns the shell that runs lines and jobs: bash, or else sh.
func FindShell() string {
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash
	}
	return "/bin/sh"
}

// ShellEnvironment is the environment of a line, and of a job: the harmless part of the host's.
func ShellEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		variable, _, _ := strings.Cut(pair, "=")
		return !strings.HasPrefix(variable, "LC_") && (variable == "CLAUDE_CONFIG_DIR" || !slices.Contains(inherited, variable))
	})
}
