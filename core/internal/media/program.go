package media

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

	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/redact"
)

// maxComplaint limits how much of a program's stderr is logged, in bytes.
const maxComplaint = 2 << 10

// passed are the host's environment variables that a program gets, besides LC_*. TMPDIR is its working folder.
var passed = []string{"HOME", "PATH", "USER", "LANG", "TZ"}

// program is a command of the operator or of the host. Each run has its own folder, and everything that it starts ends with it. No
// shell interprets the arguments.
type program struct {
	command []string
	timeout time.Duration
	dir     string          // contains the working folders
	family  *process.Family // runs it
	path    string          // the host's own program, executed instead of the command, without the host's environment; empty: none
}

// task is one run of a program.
type task struct {
	values []string  // pairs of a placeholder in the arguments and what replaces it
	input  io.Reader // its stdin; nil: empty
	most   int       // maximum bytes of its output
}

// errOutOfTime means that a program was killed because it took too long.
var errOutOfTime = errors.New("it took too long")

// programFolder creates a program's working folder in parent; remove deletes it.
func programFolder(parent string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(parent, "program-")
	if err != nil {
		return "", nil, fmt.Errorf("create a working folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the parent folder is deleted when the host starts
}

// run runs the program in a working folder and returns the beginning of its stdout. If ctx ended, the error is ctx's.
func (p program) run(ctx context.Context, dir string, t task) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	arguments, values := slices.Clone(p.command[1:]), strings.NewReplacer(t.values...)
	for i, a := range arguments {
		arguments[i] = values.Replace(a)
	}
	stdout, stderr := &beginning{most: t.most}, &beginning{most: maxComplaint}
	command := exec.CommandContext(bounded, cmp.Or(p.path, p.command[0]), arguments...)
	command.Args[0] = p.command[0]
	command.Dir, command.Env = dir, []string{}
	if p.path == "" {
		command.Env = environment(dir)
	}
	command.Stdin, command.Stdout, command.Stderr = t.input, stdout, stderr
	err := p.family.Run(command, "program:"+uuid.NewString())
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case bounded.Err() != nil:
		return "", fmt.Errorf("%s: %w (%s)", filepath.Base(p.command[0]), errOutOfTime, p.timeout)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // ErrWaitDelay: success with remaining children
		return "", fmt.Errorf("%s: %w%s", filepath.Base(p.command[0]), err, stderr.complaint())
	}
	return strings.ToValidUTF8(stdout.String(), ""), nil
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

// beginning stores the beginning of what is written to it.
type beginning struct {
	strings.Builder
	most int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), max(b.most-b.Len(), 0))])
	return len(p), nil
}

// complaint returns the program's stderr for the log, without what looks like a credential.
func (b *beginning) complaint() string {
	if text := redact.Text(strings.TrimSpace(strings.ToValidUTF8(b.String(), "")), "[redacted]"); text != "" {
		return ": " + text
	}
	return ""
}
