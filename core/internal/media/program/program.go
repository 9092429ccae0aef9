// Package program runs the operator's programs, and the host's own, on what people send: each in a folder of its own, within limits,
// and not too many at once.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// maxComplaint limits how much of a program's stderr is logged, in bytes.
const maxComplaint = 2 << 10

// passed are the host's environment variables that a program gets, besides LC_*. TMPDIR is its working folder.
var passed = []string{"HOME", "PATH", "USER", "LANG", "TZ"}

// Runner runs programs. Everything that a program starts ends with it. No shell interprets the arguments.
type Runner struct {
	Dir    string          // contains the working folders
	Family *process.Family // nil: processes that leave their trees are not found
}

// Run is one run of a program.
type Run struct {
	Command []string
	Path    string    // the host's own program, executed instead of the command, without the host's environment; empty: none
	Values  []string  // pairs of a placeholder in the arguments and what replaces it
	Input   io.Reader // its stdin; nil: empty
	Most    int       // maximum bytes of its output
	Timeout time.Duration
}

// Folder creates a working folder; remove deletes it.
func (r Runner) Folder() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(r.Dir, "program-")
	if err != nil {
		return "", nil, fmt.Errorf("create a working folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the parent folder is deleted when the host starts
}

// Run runs a program in a working folder and returns the beginning of its stdout. If ctx ended, the error is ctx's.
func (r Runner) Run(ctx context.Context, dir string, run Run) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, run.Timeout)
	defer cancel()
	arguments, values := slices.Clone(run.Command[1:]), strings.NewReplacer(run.Values...)
	for i, a := range arguments {
		arguments[i] = values.Replace(a)
	}
	stdout, stderr := &process.Beginning{Most: run.Most}, &process.Beginning{Most: maxComplaint}
	command := exec.CommandContext(bounded, cmp.Or(run.Path, run.Command[0]), arguments...)
	command.Args[0] = run.Command[0]
	command.Dir, command.Env = dir, []string{}
	if run.Path == "" {
		command.Env = environment(dir)
	}
	command.Stdin, command.Stdout, command.Stderr = run.Input, stdout, stderr
	err := r.Family.Run(command, "program:"+uuid.NewString())
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case bounded.Err() != nil:
		return "", fmt.Errorf("%s: it took too long (%s)", filepath.Base(run.Command[0]), run.Timeout)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // ErrWaitDelay: success with remaining children
		if said := stderr.Complaint(); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return "", fmt.Errorf("%s: %w", filepath.Base(run.Command[0]), err)
	}
	return stdout.String(), nil
}

// environment returns a program's environment.
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
