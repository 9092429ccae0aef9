// Package claude runs the agent: the claude CLI, a persistent process for each session or one for each turn, spoken to by
// stream-json over its stdin and stdout.
//
// A [Pool] holds the processes under a limit. [Pool.Run] carries one message through: it begins or resumes the session's
// process, writes the message as a line with an id of ours, and returns the answer. The CLI de-duplicates by that id and
// keeps a transcript on disk, so a message that a crash cut off is found again and answered once, see claude/transcript. More
// lines can be steered into a turn while it uses a tool, see steer.go. A turn ends by the CLI's result, by the host's
// timeouts, or by the end of Run's context; then the tools that it started are gone when Run returns.
//
// The behaviour that this package relies on was observed on the CLI's versions 2.1.329 and 2.1.330, and back to 2.1.197.
package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
)

// Config is how claude is run. The zero value of a field means what its comment says.
type Config struct {
	Command         string            // found on PATH; empty: "claude"
	Args            []string          // more flags, before the host's own; none of the host's may be among them
	Env             map[string]string // beside the allowlisted variables of the host's environment
	Credentials     Credentials       // nil: the CLI has its own
	Owners          Owners            // nil: they learn of nothing but by the log
	FallbackModels  []string
	AllowedTools    []string
	DisallowedTools []string
	Workspace       string            // the working directory; it must exist
	Children        *process.Children // start the processes; nil: nothing that leaves their trees is adopted
	RunDir          string            // a 0700 folder of the host for the files that flags name
	DenyPaths       []string          // files and folders that the agent's file tools may not touch
	OneShot         bool              // a process serves one turn: none is idle, and each turn waits for a new one
	MaxProcesses    int               // zero: 4
	MaxMemory       int64             // bytes that all processes and their tools may hold before idle ones are ended; zero: no limit; negative: half of the machine's
	RecycleAt       int64             // bytes above which a process is ended once it is idle; zero: never
	WeighEvery      time.Duration     // how often memory is looked at; zero: 15 seconds
	ParkAfter       time.Duration
	Timeout         time.Duration // of a turn, less the time that somebody is being asked; zero: 30 minutes
	Interrupt       time.Duration // for an interrupt to be answered, before the process is ended for the stop; zero: 100 ms
	Stall           time.Duration // silence after which a turn has hung, while no tool runs; zero: 3 minutes
	Demo            bool          // the command is the stub: said in the log
}

// The defaults of a [Config].
const (
	defaultMaxProcesses = 4
	defaultParkAfter    = 10 * time.Minute
	defaultTimeout      = 30 * time.Minute
	defaultInterrupt    = 100 * time.Millisecond
	defaultStall        = 3 * time.Minute
)

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.Command == "" {
		c.Command = "claude"
	}
	if c.MaxProcesses <= 0 {
		c.MaxProcesses = defaultMaxProcesses
	}
	if c.MaxMemory < 0 {
		c.MaxMemory = machineMemory() / 2
	}
	if c.WeighEvery <= 0 {
		c.WeighEvery = weighEvery
	}
	if c.ParkAfter <= 0 {
		c.ParkAfter = defaultParkAfter
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Interrupt <= 0 {
		c.Interrupt = defaultInterrupt
	}
	if c.Stall <= 0 {
		c.Stall = defaultStall
	}
	return c
}

// Processes records the pool's processes, so that the host's next life can end those that outlive this one.
type Processes interface {
	RecordProcess(context.Context, domain.Process) error
	ForgetProcess(ctx context.Context, pid int, startTime uint64) error
}

// Credentials let a process ask the model without a key of its own.
type Credentials interface {
	// URL is where the process sends its requests, on loopback.
	URL() string
	// Issue returns what the process shows there in place of a key, until it is revoked.
	Issue() (token string, revoke func())
}

// Owners are those who run the host.
type Owners interface {
	// Tell tells them a text, once for each key.
	Tell(key, text string)
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

// check refuses a turn that the CLI would take for something else than a message.
func check(t agent.Turn) error {
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return errors.New("the prompt is empty")
	case strings.HasPrefix(t.Prompt, "/") && !compacts(t.Prompt):
		return errors.New(`a prompt that starts with "/" would run a command of the CLI`)
	case t.Session == "" || t.UUID == "":
		return errors.New("a turn needs a session and a uuid")
	default:
		return nil
	}
}

// compacts tells whether a prompt is the one command of the CLI that the host uses: "/compact", or "/compact" and what to
// keep, in one line. Its turn has no answer.
func compacts(prompt string) bool {
	const command = "/compact"
	return (prompt == command || strings.HasPrefix(prompt, command+" ")) && !strings.ContainsAny(prompt, "\r\n")
}
