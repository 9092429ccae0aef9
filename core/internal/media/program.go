package media

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/process"
)

const (
	// lingering is how long the output of a program's children is waited for that it has left behind.
	lingering = 500 * time.Millisecond
	// maxComplaint is how much of what a program says on stderr is logged, in bytes.
	maxComplaint = 2 << 10
)

// passed are the variables of the host's environment that a program gets, beside LC_*. TMPDIR is its working folder.
var passed = []string{"HOME", "PATH", "USER", "LANG", "TZ"}

// program is a command of the operator's choice. Each run has a folder of its own, and a process group that is gone when it
// is over. No shell reads the arguments.
type program struct {
	command []string
	timeout time.Duration
	dir     string // in which the working folders are made

	children *process.Children // start it
}

// task is what one run of a program does.
type task struct {
	placeholder, value string // in each argument the value takes the placeholder's place
	input              string // its stdin
	most               int    // bytes of its output that are kept
}

// errOutOfTime says that a program was ended because it took too long.
var errOutOfTime = errors.New("it took too long")

// workspace makes a working folder, which remove takes away.
func (p program) workspace() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(p.dir, "program-")
	if err != nil {
		return "", nil, fmt.Errorf("make a working folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the folder above goes as the host starts
}

// run runs the program in a working folder and returns the beginning of what it wrote to stdout. Where ctx ended, that is
// the error.
func (p program) run(ctx context.Context, dir string, t task) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	arguments := slices.Clone(p.command[1:])
	for i, a := range arguments {
		arguments[i] = strings.ReplaceAll(a, t.placeholder, t.value)
	}
	stdout, stderr := &beginning{most: t.most}, &beginning{most: maxComplaint}
	command := exec.CommandContext(bounded, p.command[0], arguments...)
	command.Dir, command.Env = dir, environment(dir)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(t.input), stdout, stderr
	command.Cancel = func() error { return process.KillGroup(command.Process.Pid) }
	command.WaitDelay = lingering
	err := p.children.Start(command)
	if err == nil {
		err = p.children.Wait(command)
		_ = process.KillGroup(command.Process.Pid) // what it has left behind; mostly nothing
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case bounded.Err() != nil:
		return "", fmt.Errorf("%s: %w (%s)", filepath.Base(p.command[0]), errOutOfTime, p.timeout)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // it ended well, but for what it has left behind
		return "", fmt.Errorf("%s: %w%s", filepath.Base(p.command[0]), err, stderr.complaint())
	}
	return strings.ToValidUTF8(stdout.String(), ""), nil
}

// environment is a program's.
func environment(dir string) []string {
	env := []string{"TMPDIR=" + dir}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, variable)
		}
	}
	return env
}

// beginning keeps the beginning of what is written to it.
type beginning struct {
	strings.Builder
	most int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), max(b.most-b.Len(), 0))])
	return len(p), nil
}

// complaint is what the program said, for the log.
func (b *beginning) complaint() string {
	if text := strings.TrimSpace(strings.ToValidUTF8(b.String(), "")); text != "" {
		return ": " + text
	}
	return ""
}
