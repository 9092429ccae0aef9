package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/semver"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

// Oldest is the oldest version of the CLI whose behaviour the host knows.
const Oldest = "2.1.197"

// inspectTimeout limits each question to the CLI. It answers in half a second.
const inspectTimeout = 20 * time.Second

// maxInspected is how much of an answer is read, in bytes.
const maxInspected = 64 << 10

// Installation is what a CLI on this machine says about itself.
type Installation struct {
	Path    string
	Version string // such as "2.1.331"
	Login   Login
	Account string // how it is logged in, such as "claude.ai" or "api_key"; empty: unknown, or not logged in
}

// Login is whether a CLI is logged in.
type Login string

// The logins.
const (
	LoginUnknown Login = "unknown" // it does not say
	LoggedIn     Login = "logged in"
	LoggedOut    Login = "not logged in"
)

// String describes the installation in a line.
func (i Installation) String() string {
	login := string(i.Login)
	if i.Login == LoginUnknown {
		login = "login unknown"
	}
	if i.Account != "" {
		login += " (" + i.Account + ")"
	}
	return "Claude Code " + i.Version + ", " + login
}

// DescribesContext reports whether the CLI is known to describe its context without a request to the API, as 2.1.331 does. Older ones may
// have the API count tokens, two dozen times.
func (i Installation) DescribesContext() bool { return semver.Compare("v"+i.Version, "v2.1.331") >= 0 }

// TooOld reports whether the host does not know the version.
func (i Installation) TooOld() bool { return semver.Compare("v"+i.Version, "v"+Oldest) < 0 }

// BrokenError reports that the CLI was found, and does not run.
type BrokenError struct {
	Path        string
	Placeholder bool // npm installed it without its program
	Why         string
}

// Error says what to do.
func (e *BrokenError) Error() string {
	if e.Placeholder {
		return fmt.Sprintf("%s is only a placeholder, because npm did not run the scripts of the package; install it again with "+
			"\"npm install -g @anthropic-ai/claude-code\", without --ignore-scripts", e.Path)
	}
	return fmt.Sprintf("%s does not run: %s", e.Path, e.Why)
}

// versionShape is the beginning of what the CLI prints for --version, as in "2.1.331 (Claude Code)". The stub adds what it is.
var versionShape = lazyregexp.New(`^(\d+\.\d+\.\d+\S*) \(Claude Code\b`)

// Inspect asks a CLI for its version and whether it is logged in, in the environment in which turns run. It uses no network. The
// error is a [NotInstalledError] or a [BrokenError], or that of ctx. With keys of the host's the CLI counts as logged in.
func Inspect(ctx context.Context, cfg Options) (Installation, error) {
	if cfg.Command == "" {
		cfg.Command = "claude"
	}
	path, err := exec.LookPath(cfg.Command)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return Installation{}, &NotInstalledError{Command: cfg.Command, Err: err}
	}
	if path, err = filepath.Abs(path); err != nil {
		return Installation{}, err
	}
	if cfg.Family == nil {
		cfg.Family = NewFamily(nil)
	}
	env := environment(os.LookupEnv, os.Environ(), cfg)
	found := Installation{Path: path, Login: LoginUnknown}
	said, err := question(ctx, cfg.Family, path, env, "--version")
	shape := versionShape().FindStringSubmatch(said)
	switch {
	case ctx.Err() != nil:
		return Installation{}, ctx.Err()
	case shape == nil:
		return Installation{}, broken(path, said, err)
	}
	found.Version = shape[1]
	if credentialed(cfg) {
		found.Login, found.Account = LoggedIn, "keys of the host"
		return found, nil
	}
	said, _ = question(ctx, cfg.Family, path, env, "auth", "status") // it exits with 1 if nobody is logged in
	var status struct {
		LoggedIn         *bool  `json:"loggedIn"`
		AuthMethod       string `json:"authMethod"`
		SubscriptionType string `json:"subscriptionType"`
	}
	if json.Unmarshal([]byte(said), &status) != nil || status.LoggedIn == nil {
		return found, ctx.Err()
	}
	if found.Login = LoggedOut; *status.LoggedIn {
		found.Login, found.Account = LoggedIn, strings.TrimSpace(status.AuthMethod+" "+status.SubscriptionType)
	}
	return found, nil
}

// question runs the CLI and returns what it prints, with what it complains about.
func question(ctx context.Context, family *process.Family, path string, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env, command.Dir = env, os.TempDir()
	out := &process.Beginning{Most: maxInspected}
	command.Stdout, command.Stderr = out, out
	err := family.Run(command, "inspect:"+uuid.NewString())
	return out.String(), err
}

// broken explains a CLI that does not print its version.
func broken(path, said string, err error) error {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	switch {
	case placeholder(path):
		return &BrokenError{Path: path, Placeholder: true}
	case errors.Is(err, syscall.ENOEXEC):
		return &BrokenError{Path: path, Why: "it is no program for this machine"}
	case err != nil && line != "":
		return &BrokenError{Path: path, Why: fmt.Sprintf("%v: %s", err, line)}
	case err != nil:
		return &BrokenError{Path: path, Why: err.Error()}
	}
	return &BrokenError{Path: path, Why: fmt.Sprintf("it is not Claude Code: for --version it printed %q", line)}
}

// placeholder reports whether a file is what npm leaves where it did not run the scripts of the CLI's package: a text that says so.
func placeholder(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	beginning, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return err == nil && bytes.Contains(beginning, []byte("claude native binary not installed"))
}
