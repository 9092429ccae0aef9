package cli

import (
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/credential"
)

// Options are how each claude is run. The zero value of a field means what its comment says.
type Options struct {
	Command         string            // found on PATH; empty: "claude"
	Args            []string          // further flags, before the host's own; the host's own are not permitted
	Env             map[string]string // in addition to the allowlisted variables of the host's environment
	Credentials     *credential.Proxy // nil: the CLI has its own
	FallbackModels  []string
	AllowedTools    []string
	DisallowedTools []string
	Workspace       string          // the working directory; it must exist
	Worktrees       string          // the folder of the agent's worktrees, which other agents may not touch; empty: none
	Family          *process.Family // starts the processes
	RunDir          string          // a 0700 folder of the host for the files that flags name
	TrustProject    bool            // use the workspace's own settings, hooks and all
	Deny            [][]string      // rules of what may never be done, besides DisallowedTools; see [Deny]. Agents share most of the lists
}

// NotInstalledError reports that the CLI was not found.
type NotInstalledError struct {
	Command string
	Err     error
}

// Error says how to install it.
func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("claude is not installed: %q was not found; install it with \"npm install -g @anthropic-ai/claude-code\" "+
		"and run \"claude\" once to log in, or run clawhost with -demo", e.Command)
}

// Unwrap returns the cause.
func (e *NotInstalledError) Unwrap() error { return e.Err }
