// Package claude runs the agent: the claude CLI, with a persistent process for each session or one for each turn,
// controlled by stream-json over its stdin and stdout.
//
// A [Pool] limits the number of processes. [Pool.Run] runs one message: it starts or resumes the session's process,
// writes the message as a line with an id of ours, and returns the answer. The CLI recognises that id and keeps a
// transcript on disk, so a message that a crash interrupted is found again and answered once. A turn ends by the CLI's
// result, by the host's timeouts, or by the end of Run's context; then the tools that it started are gone when Run
// returns.
//
// It is built on these packages, each of which imports only those before it: claude/protocol, the lines;
// claude/exchange, the events of one message; claude/transcript, the outcome of an earlier one; claude/cli, the
// process; claude/client, which talks to one process.
//
// The behaviour that this package relies on was observed on the CLI's versions 2.1.329 to 2.1.331, and back to 2.1.197.
package claude

import (
	"errors"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/notice"
)

// Config is how claude is run for each agent, and how many processes of all of them. The zero value of a field means what its
// comment says.
type Config struct {
	Agents    map[string]cli.Options // by the agent's label, as in [agent.Turn]
	DenyPaths []string               // files and folders that no agent's file tools may touch
	Family    *process.Family        // starts the processes; nil: a new one that adopts none

	Owners       *notice.Owners // nil: failures are only logged
	OneShot      bool           // each turn gets a new process, and no process is kept idle
	MaxProcesses int            // zero: 4
	// total bytes of all processes and their tools, above which idle ones are ended; zero: no limit; negative: half of
	// the machine's memory
	MaxMemory  int64
	Machine    memory.Machine // whose memory counts; zero: this one
	RecycleAt  int64          // bytes above which a process is ended when it becomes idle; zero: never
	WeighEvery time.Duration  // interval between measurements of memory; zero: 15 seconds
	// how long an idle process is kept; zero: ten minutes, and longer while its conversation is in frequent use and there is much memory
	ParkAfter time.Duration
	Spare     int           // processes that wait for a conversation to begin; zero: none; [AutoSpare]
	Timeout   time.Duration // of a turn, not counting the time of open questions; zero: 30 minutes
	Interrupt time.Duration // for the answer to an interrupt, before the process is ended; zero: 100 ms
	Stall     time.Duration // silence after which a turn counts as hung, while no tool runs; zero: 3 minutes
	Demo      bool          // the command is the stub; logged
}

// The defaults of a [Config].
const (
	defaultMaxProcesses = 4
	defaultTimeout      = 30 * time.Minute
	defaultInterrupt    = 100 * time.Millisecond
	defaultStall        = 3 * time.Minute
)

// withDefaults sets the defaults.
func (c Config) withDefaults() Config {
	if c.Family == nil {
		c.Family = cli.NewFamily(nil)
	}
	if c.MaxProcesses <= 0 {
		c.MaxProcesses = defaultMaxProcesses
	}
	if c.MaxMemory < 0 {
		machine, _ := c.Machine.Read()
		c.MaxMemory = machine.Total / 2
	}
	if c.WeighEvery <= 0 {
		c.WeighEvery = weighEvery
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

// limits are the time limits of a turn.
func (c Config) limits() client.Limits {
	return client.Limits{Timeout: c.Timeout, Interrupt: c.Interrupt, Stall: c.Stall}
}

// check refuses a turn that the CLI would not take for a message.
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

// compacts reports whether a prompt is the only CLI command that the host uses: "/compact", or "/compact" with what to
// keep, on one line. Its turn has no answer.
func compacts(prompt string) bool {
	const command = "/compact"
	return (prompt == command || strings.HasPrefix(prompt, command+" ")) && !strings.ContainsAny(prompt, "\r\n")
}
