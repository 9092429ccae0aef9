// Package client speaks with one claude by stream-json: it writes messages and follows what is said over each to its end, steers
// more into a turn, stops it, and answers what the CLI asks meanwhile.
package client

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// Client speaks with a running claude.
type Client struct {
	Session string // by its id
	Key     string // the host's name of the session; may be empty
	profile agent.Profile
	tools   bool            // the host's are offered
	folder  string          // the workspace, as the CLI names it
	Before  map[string]bool // the ids of lines that were steered in the time of previous processes, which this one would run
	command *cli.Command
	limits  Limits
	Log     hclog.Logger
	Process Process

	ready chan struct{} // initialize was answered

	telling sync.Mutex // held while the running turn is told of its progress, so that it is not told when it is over

	mu        sync.Mutex
	exchange  *exchange.Exchange // the running turn
	watch     agent.Watcher      // of the running turn; nil: nobody
	requests  *requests          // of the running turn, or of that which the process was started for; nil: no turn
	moved     chan struct{}      // closed and replaced when the running turn comes to another stage
	heard     time.Time          // the last line; the monotonic clock, which stands still while the machine sleeps
	streaming time.Time          // the first piece of the text that is being streamed; zero: none is
	isReady   bool
	meter     exchange.Meter
	expected  map[string]chan<- *protocol.Event // answers to requests of the host's, by their ids
	spent     map[string]bool                   // the ids of withdrawn lines, which the process would not run
	intruder  *int                              // the process that wrote into the session; nil: none has
}

// Limits bound a turn in time.
type Limits struct {
	Timeout   time.Duration // of a turn that names none, less the time that somebody is being asked
	Interrupt time.Duration // for an interrupt to be answered, before the process is ended for the stop
	Stall     time.Duration // silence after which a turn has hung, while no tool runs
}

// Process is what a session needs of its claude.
type Process interface {
	Start(cli.Output) error
	Send(v any)
	Kill()
	Interrupt()
	Park(patience time.Duration)
	Destroy(known ...cli.ID)
	Descendants() ([]cli.ID, error)
	KillDescendants(known ...cli.ID)
	ID() cli.ID
	Record() domain.Process
	Exited() <-chan struct{}
	Ended() string
	Stderr() string
}

// New prepares a process for a turn's session, and what speaks with it.
func New(c *cli.Command, l Limits, t agent.Turn, from cli.Origin, before map[string]bool, log hclog.Logger) *Client {
	log = log.With("session", t.Session)
	return &Client{
		command: c, limits: l, Before: before, Session: t.Session, Key: t.Key, profile: t.Profile, tools: t.Tools != nil, folder: c.Folder, Log: log, Process: c.Process(t, from, log),
		ready: make(chan struct{}), moved: make(chan struct{}), heard: time.Now(), spent: map[string]bool{},
	}
}

// Start starts the process, and answers its requests until ctx ends or the session is dismissed.
func (c *Client) Start(ctx context.Context, t agent.Turn) error {
	c.attend(ctx, t)
	err := c.Process.Start(c)
	if err != nil {
		c.Dismiss()
	}
	return err
}

// initID is the id of the request whose answer says that the process is ready.
const initID = "initialize"

// Initialize has the process get ready.
func (c *Client) Initialize() {
	// Without the switch newer CLIs go on with the system prompt that the session was begun with, whatever the flags of a
	// later process say.
	body := map[string]any{"subtype": "initialize", "systemPromptSnapshot": false}
	if c.tools {
		body["sdkMcpServers"] = []string{cli.ServerName}
	}
	c.request(initID, body)
}

// request sends a request of the control protocol.
func (c *Client) request(id string, body map[string]any) {
	c.Process.Send(protocol.ControlRequest(id, body))
}

// say writes a message.
func (c *Client) say(l Line) {
	c.Process.Send(protocol.UserMessage(l.UUID, l.Text))
}

// Alive reports whether the process runs.
func (c *Client) Alive() bool {
	select {
	case <-c.Process.Exited():
		return false
	default:
		return true
	}
}

// IntrudedBy is the process that has written into the session; nil: none has.
func (c *Client) IntrudedBy() *int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.intruder
}

// died is the error of a process that ended by itself.
func (c *Client) died(class agent.Class) *agent.Failure {
	if intruder := c.IntrudedBy(); intruder != nil {
		return &agent.Failure{Class: agent.Intruded, Detail: fmt.Sprintf("process %d wrote into the session", *intruder)}
	}
	detail := c.Process.Ended()
	if text := c.Process.Stderr(); text != "" {
		detail += ": " + c.command.Redact(text)
	}
	return &agent.Failure{Class: class, Detail: detail}
}

// Line is a message to write.
type Line struct{ UUID, Text string }

// Aborted is the failure of a turn whose context ended.
func Aborted(ctx context.Context) *agent.Failure {
	return &agent.Failure{Class: agent.Aborted, Err: context.Cause(ctx)}
}

// refusals is how the CLI says that it does not run with these flags and settings, or as this user: it will not do so later
// either. What else it says at its end may pass, as while it is upgraded.
var refusals = regexp.MustCompile(`(?m)cannot be used with root|^error: (unknown option|unknown command|option |too many arguments)|^Error: Invalid |Settings validation failed`)

const spawnTimeout = 30 * time.Second // from the start to the answer to initialize

// Await waits until the process has answered initialize. One that does not is ended.
func (c *Client) Await(ctx context.Context) *agent.Failure {
	timer := time.NewTimer(spawnTimeout)
	defer timer.Stop()
	select {
	case <-c.ready:
		return nil
	case <-c.Process.Exited():
		if said := c.Process.Stderr(); refusals.MatchString(said) {
			return &agent.Failure{Class: agent.Refused, Detail: c.command.Redact(said)}
		}
		return c.died(agent.Unavailable)
	case <-ctx.Done():
		c.Process.Destroy()
		return Aborted(ctx)
	case <-timer.C:
		c.Process.Destroy()
		return &agent.Failure{Class: agent.Unavailable, Detail: fmt.Sprintf("claude was not ready within %v", spawnTimeout)}
	}
}
