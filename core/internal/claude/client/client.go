// Package client talks to one claude by stream-json: it writes messages and follows each to its end, steers more into a
// turn, stops it, and answers the CLI's requests meanwhile.
package client

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Client speaks with a running claude.
type Client struct {
	session  string
	profile  agent.Profile
	tools    bool            // the host's tools are offered
	before   map[string]bool // see [Client.Steered]
	command  *cli.Command
	limits   Limits
	log      hclog.Logger
	process  Process
	requests *requests

	inventory *Inventory

	ready chan struct{} // initialize was answered

	telling sync.Mutex // held while the running turn gets its progress, so that it gets none after its end

	mu        sync.Mutex
	exchange  *exchange.Exchange // of the running turn
	watch     agent.Watcher      // of the running turn; nil: none
	moved     chan struct{}      // closed and replaced when the running turn reaches another stage
	heard     time.Time          // the last line; monotonic, so it does not advance while the machine sleeps
	isReady   bool
	meter     exchange.Meter
	expected  map[string]chan<- *protocol.Event // answers to requests of the host, by id
	spent     map[string]bool                   // ids of withdrawn lines, which the process would not run again
	pending   bool                              // an MCP server is still starting
	tasks     tasks
	speed     protocol.Speed
	intruder  *int // the process that wrote into the session; nil: none
	elsewhere bool // the process has left its session for another one
	announces bool // the process reports when it starts a line
}

// Limits are the time limits of a turn.
type Limits struct {
	Timeout   time.Duration // of a turn without its own, not counting the time of open questions
	Interrupt time.Duration // for the answer to an interrupt, before the process is ended
	Stall     time.Duration // silence after which a turn counts as hung, while no tool runs
}

// Process is a claude process with its descendants. cli.Process implements it.
type Process interface {
	ID() cli.ID
	Initialized()
	Send(v any) // writes a line without blocking
	Kill()
	Interrupt()
	// Destroy kills all of it and the known processes, and waits for their end.
	Destroy(known ...cli.ID)
	Descendants() ([]cli.ID, error)
	KillDescendants(known ...cli.ID)
	Park(patience time.Duration) // ends an idle one
	// Exited returns a channel that is closed when the process has ended and its output was read.
	Exited() <-chan struct{}
	Ended() string  // says how it ended
	Stderr() string // returns the end of what it wrote there
}

// New returns a client for a process that was prepared for a turn's session. Before holds the ids of lines that previous
// processes steered into the session.
func New(c *cli.Command, l Limits, t agent.Turn, process Process, before map[string]bool, inventory *Inventory, log hclog.Logger) *Client {
	return &Client{
		session: t.Session, command: c, limits: l, before: before, inventory: inventory, profile: t.Profile,
		tools: t.Tools != nil, log: log, process: process, requests: newRequests(process, c.Folders(), t.Profile, log),
		ready: make(chan struct{}), moved: make(chan struct{}), heard: time.Now(), spent: map[string]bool{},
	}
}

// Steered reports whether a previous process steered a line into the session. This process would run it again.
func (c *Client) Steered(line string) bool { return c.before[line] }

// initID is the id of the request whose answer means that the process is ready.
const initID = "initialize"

// toolHook is the hook that the CLI asks before each use of a tool, in any permission mode. Its timeout, in seconds, is never reached:
// the CLI would use the tool then.
const (
	toolHook    = "tool"
	hookTimeout = 24 * 60 * 60
)

// Initialize starts the initialization of the process.
func (c *Client) Initialize() {
	// Without this switch, newer CLIs keep the system prompt of the session's first process, whatever the flags of a
	// later one say.
	body := map[string]any{"subtype": "initialize", "systemPromptSnapshot": false}
	if c.profile.SystemPrompt != "" {
		body["appendSystemPrompt"] = c.profile.SystemPrompt // not in argv or a file, which others could read or change
	}
	if c.tools {
		body["sdkMcpServers"] = []string{cli.ServerName}
	}
	matcher := ""
	switch {
	case c.profile.Only != "":
		matcher = "*"
	case c.profile.Apart != (agent.Apart{}):
		matcher = strings.Join(writers, "|")
	}
	if matcher != "" {
		body["hooks"] = map[string]any{"PreToolUse": []any{map[string]any{
			"matcher": matcher, "hookCallbackIds": []string{toolHook}, "timeout": hookTimeout,
		}}}
	}
	c.request(initID, body)
	c.begin()
}

// request sends a request of the control protocol.
func (c *Client) request(id string, body map[string]any) {
	c.process.Send(protocol.ControlRequest(id, body))
}

// IntrudedBy returns the process that has written into the session; nil: none.
func (c *Client) IntrudedBy() *int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.intruder
}

// left reports whether the process has left its session.
func (c *Client) left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elsewhere
}

// died is the failure of a process that ended by itself.
func (c *Client) died(class agent.Class) *agent.Failure {
	if intruder := c.IntrudedBy(); intruder != nil {
		return &agent.Failure{Class: agent.Intruded, Detail: fmt.Sprintf("process %d wrote into the session", *intruder)}
	}
	detail := c.process.Ended()
	if c.left() {
		detail = "it left its session for another one"
	}
	if text := c.process.Stderr(); text != "" {
		detail += ": " + c.command.Redact(text)
	}
	return &agent.Failure{Class: class, Detail: detail}
}

// Aborted is the failure of a turn whose context ended.
func Aborted(ctx context.Context) *agent.Failure {
	return &agent.Failure{Class: agent.Aborted, Err: context.Cause(ctx)}
}

// refusals matches the CLI's messages that it does not run with these flags and settings, or as this user: a permanent
// error. Other messages at its end may be temporary, such as during an upgrade.
var refusals = lazyregexp.New(`(?m)cannot be used with root|^error: (unknown option|unknown command|option |too many arguments)|^Error: Invalid |Settings validation failed`)

const spawnTimeout = 30 * time.Second // from the start to the answer to initialize

// Await waits until the process has answered initialize, and otherwise ends it.
func (c *Client) Await(ctx context.Context) *agent.Failure {
	timer := time.NewTimer(spawnTimeout)
	defer timer.Stop()
	select {
	case <-c.ready:
		return nil
	case <-c.process.Exited():
		if said := c.process.Stderr(); refusals().MatchString(said) {
			return &agent.Failure{Class: agent.Refused, Detail: c.command.Redact(said)}
		}
		return c.died(agent.Unavailable)
	case <-ctx.Done():
		c.process.Destroy()
		return Aborted(ctx)
	case <-timer.C:
		c.process.Destroy()
		return &agent.Failure{Class: agent.Unavailable, Detail: fmt.Sprintf("claude was not ready within %v", spawnTimeout)}
	}
}
