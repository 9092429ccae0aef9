package cli

import (
	"fmt"

	"github.com/clawhost/clawhost/core/internal/process"
)

// Options are how each claude is run. The zero value of a field means what its comment says.
type Options struct {
	Command         string            // found on PATH; empty: "claude"
	Args            []string          // more flags, before the host's own; none of the host's may be among them
	Env             map[string]string // beside the allowlisted variables of the host's environment
	Credentials     Credentials       // nil: the CLI has its own
	FallbackModels  []string
	AllowedTools    []string
	DisallowedTools []string
	Workspace       string            // the working directory; it must exist
	Children        *process.Children // start the processes; nil: nothing that leaves their trees is adopted
	RunDir          string            // a 0700 folder of the host for the files that flags name
	DenyPaths       []string          // files and folders that the agent's file tools may not touch
}

// Credentials let a process ask the model without a key of its own.
type Credentials interface {
	// URL is where the process sends its requests, on loopback.
	URL() string
	// Issue returns what the process shows there in place of a key, until it is revoked.
	Issue() (token string, revoke func())
}

// NotInstalledError says that the CLI was not found.
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
