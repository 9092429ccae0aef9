// Package claude runs the agent: the claude CLI, a persistent process for each session or one for each turn, spoken to by
// stream-json over its stdin and stdout.
//
// A [Pool] holds the processes under a limit. [Pool.Run] carries one message through: it begins or resumes the session's
// process, writes the message as a line with an id of ours, and returns the answer. The CLI de-duplicates by that id and
// keeps a transcript on disk, so a message that a crash cut off is found again and answered once. A turn ends by the CLI's
// result, by the host's timeouts, or by the end of Run's context; then the tools that it started are gone when Run returns.
//
// Below it stand, each of which imports only those before it: claude/protocol, the lines; claude/exchange, what is said over one;
// claude/transcript, what became of one before; claude/cli, the process; claude/client, which speaks with one process.
//
// The behaviour that this package relies on was observed on the CLI's versions 2.1.329 and 2.1.330, and back to 2.1.197.
package claude

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// Config is how claude is run, and how many of it. The zero value of a field means what its comment says.
type Config struct {
	cli.Options

	Owners       Owners        // nil: they learn of nothing but by the log
	OneShot      bool          // a process serves one turn: none is idle, and each turn waits for a new one
	MaxProcesses int           // zero: 4
	MaxMemory    int64         // bytes that all processes and their tools may hold before idle ones are ended; zero: no limit; negative: half of the machine's
	RecycleAt    int64         // bytes above which a process is ended once it is idle; zero: never
	WeighEvery   time.Duration // how often memory is looked at; zero: 15 seconds
	ParkAfter    time.Duration
	Timeout      time.Duration // of a turn, less the time that somebody is being asked; zero: 30 minutes
	Interrupt    time.Duration // for an interrupt to be answered, before the process is ended for the stop; zero: 100 ms
	Stall        time.Duration // silence after which a turn has hung, while no tool runs; zero: 3 minutes
	Demo         bool          // the command is the stub: said in the log
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
	if c.MaxProcesses <= 0 {
		c.MaxProcesses = defaultMaxProcesses
	}
	if c.MaxMemory < 0 {
		c.MaxMemory = cli.MachineMemory() / 2
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

// limits are those of a turn.
func (c Config) limits() client.Limits {
	return client.Limits{Timeout: c.Timeout, Interrupt: c.Interrupt, Stall: c.Stall}
}

// Processes records the pool's processes, so that the next host process can end those that outlive this one.
type Processes interface {
	RecordProcess(context.Context, domain.Process) error
	DeleteProcess(ctx context.Context, pid int, startTime uint64) error
}

// Owners are those who run the host.
type Owners interface {
	// Tell tells them a text, once for each key.
	Tell(key, text string)
}

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

// compacts reports whether a prompt is the one command of the CLI that the host uses: "/compact", or "/compact" and what to
// keep, in one line. Its turn has no answer.
func compacts(prompt string) bool {
	const command = "/compact"
	return (prompt == command || strings.HasPrefix(prompt, command+" ")) && !strings.ContainsAny(prompt, "\r\n")
}
