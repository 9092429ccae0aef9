package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

const (
	// maxOutput bounds what git may print, in bytes: the names of ignored files can be many.
	maxOutput = 16 << 20
	// gitTime limits one command: the repository may have pipes where git expects files.
	gitTime = 10 * time.Minute
	// maxComplaint is how much is kept of what git prints as an error.
	maxComplaint = 2 << 10
)

// Shell runs lines of the shell for an agent: claude.Pool.
type Shell interface {
	// Shell runs a line in a folder and returns its exit code. When ctx ends, it is killed and the error is ctx's cause.
	Shell(ctx context.Context, agent, folder string, l cli.Line) (code int, err error)
}

// environment is the environment in which git asks nobody, fetches nothing, whatever the config says, takes no locks that are not needed, and
// prints what programs read.
const environment = "GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=none GIT_OPTIONAL_LOCKS=0 LC_ALL=C "

// overrides are settings by which git runs no programs that the config or the hooks of a repository name: the agent may have written them.
var overrides = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.sshCommand=false", "core.editor=true",
	"commit.gpgSign=false", "gc.auto=0", "maintenance.auto=false", "submodule.recurse=false",
}

// gitError is the failure of a git command.
type gitError struct {
	command string // its name
	code    int
	said    string
}

// Error says what git said.
func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: exit code %d", e.command, e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

// git runs git for an agent in one folder.
type git struct {
	shell  Shell
	agent  string
	folder string
	config []string // settings beside the overrides
	// outlives says that it completes what it does when the host is killed. A killed git leaves locks, and files that are half written.
	outlives bool
}

// detached returns git that completes what it does, whatever becomes of the host, and a context for it.
func (g git) detached(ctx context.Context) (git, context.Context, context.CancelFunc) {
	g.outlives = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), detachedTime)
	return g, ctx, cancel
}

// detachedTime limits what git does detached.
const detachedTime = 5 * time.Minute

// in is git in another folder of the same repository. Where it changes or compares files, the folder must be opened: its config may
// be another one.
func (g git) in(folder string) git {
	g.folder = folder
	return g
}

// named is git whose commits have the host's name.
func (g git) named() git {
	g.config = append(slices.Clip(g.config), "user.name=clawhost", "user.email=clawhost@localhost")
	return g
}

// open returns git for a folder of a repository. Its own filters, merge drivers and programs for signatures are switched off; those of
// the person's config, such as LFS, work.
func open(ctx context.Context, shell Shell, agent, folder string) (git, error) {
	g := git{shell: shell, agent: agent, folder: folder}
	found, err := g.run(ctx, "config", "--show-scope", "--null", "--name-only", "--get-regexp", `^(filter|merge|gpg)\.`)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	drivers := map[string]string{}
	parts := strings.Split(found, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		scope, name := parts[i], parts[i+1]
		kind, rest, _ := strings.Cut(name, ".")
		dot := strings.LastIndex(rest, ".")
		if scope != "local" && scope != "worktree" {
			continue
		}
		if name == "gpg.program" {
			drivers[name] = "false"
		}
		if dot < 0 {
			continue
		}
		driver := kind + "." + rest[:dot]
		if strings.Contains(driver, "=") { // a setting of the command line ends its name there
			return g, fmt.Errorf("the config of the repository has %s, which cannot be switched off", driver)
		}
		switch kind {
		case "merge":
			drivers[driver+".driver"] = "false"
		case "gpg":
			drivers[driver+".program"] = "false"
		default:
			drivers[driver+".clean"], drivers[driver+".smudge"], drivers[driver+".process"], drivers[driver+".required"] = "", "", "", "false"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		g.config = append(g.config, name+"="+drivers[name])
	}
	return g, nil
}

// run runs git and returns what it prints, without the last line break. The error is a [*gitError], ctx's, or the shell's.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.line(ctx, args[0], g.command("", args...))
}

// command is a line of the shell that runs git, with variables in front, such as "A=b ".
func (g git) command(variables string, args ...string) string {
	words := []string{"git"}
	for _, setting := range slices.Concat(overrides, g.config) {
		words = append(words, "-c", process.Quoted(setting))
	}
	for _, arg := range args {
		words = append(words, process.Quoted(arg))
	}
	return environment + variables + strings.Join(words, " ")
}

// line runs a line of the shell. The name stands for it in errors. If another git has locked what it needs, it is tried again for a while.
func (g git) line(ctx context.Context, name, line string) (string, error) {
	for try := 1; ; try++ {
		output, err := g.once(ctx, name, line)
		failed, ok := errors.AsType[*gitError](err)
		if !ok || try == lockTries || !strings.Contains(failed.said, ".lock': File exists") {
			return output, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return "", fmt.Errorf("git %s: %w", name, context.Cause(ctx))
		}
	}
}

// What another git has locked is tried again, so often and after such pauses.
const (
	lockTries = 20
	lockPause = 250 * time.Millisecond
)

// once runs a line of the shell.
func (g git) once(ctx context.Context, name, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	stdout, stderr := &process.Beginning{Most: maxOutput}, &process.Beginning{Most: maxComplaint}
	code, err := g.shell.Shell(ctx, g.agent, g.folder, cli.Line{
		Name: "git:" + uuid.NewString(), Text: line, Stdout: stdout, Stderr: stderr, Outlives: g.outlives,
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("git %s: %w", name, err)
	case code == 127:
		return "", &gitError{name, code, "git is not installed"}
	case code != 0:
		return "", &gitError{name, code, stderr.Complaint()}
	case stdout.Over:
		return "", &gitError{name, code, fmt.Sprintf("it prints more than %d MB", maxOutput>>20)}
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// ok runs git and reports whether it succeeds. With an exit code of 1 it does not; other failures are errors.
func (g git) ok(ctx context.Context, args ...string) (bool, error) {
	_, err := g.run(ctx, args...)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		return false, nil
	}
	return err == nil, err
}

// count runs git and returns how many lines of what it prints fit an expression of grep.
func (g git) count(ctx context.Context, expression string, args ...string) (n int, err error) {
	number, err := g.line(ctx, args[0], g.command("", args...)+" | { LC_ALL=C grep -c "+process.Quoted(expression)+" || test $? -eq 1; }")
	if err == nil {
		n, err = strconv.Atoi(number)
	}
	return n, err
}
