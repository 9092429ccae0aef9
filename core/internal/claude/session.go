package claude

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// session speaks with a running claude.
type session struct {
	id      string
	key     string // the host's name of the session; may be empty
	profile agent.Profile
	tools   bool            // the host's are offered
	folder  string          // the workspace, as the CLI names it
	before  map[string]bool // the ids of lines that were steered in the time of previous processes, which this one would run
	log     hclog.Logger
	proc    claudeProcess

	ready chan struct{} // initialize was answered

	telling sync.Mutex // held while the running turn is told of its progress, so that it is not told when it is over

	mu       sync.Mutex
	exchange *exchange.Exchange // the running turn
	tell     func(agent.Progress)
	desk     *desk         // of the running turn, or of that which the process was started for; nil: no turn
	moved    chan struct{} // closed and replaced when the running turn comes to another stage
	heard    time.Time     // the last line; the monotonic clock, which stands still while the machine sleeps
	isReady  bool
	meter    exchange.Meter
	expected map[string]chan<- *protocol.Event // answers to requests of the host's, by their ids
	spent    map[string]bool                   // the ids of withdrawn lines, which the process would not run
	intruder *int                              // the process that wrote into the session; nil: none has

	// The pool's.
	since   time.Time  // idle
	weight  cli.Weight // when it was weighed last
	holds   bool       // a slot, which its end gives back
	leaving bool       // parked
	over    bool       // ended
}

// claudeProcess is what a session needs of its claude.
type claudeProcess interface {
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

// newSession prepares a process for a turn's session, and what speaks with it.
func newSession(c *cli.Command, t agent.Turn, from cli.Origin, log hclog.Logger) *session {
	log = log.With("session", t.Session)
	return &session{
		id: t.Session, key: t.Key, profile: t.Profile, tools: t.Tools != nil, folder: c.Folder, log: log, proc: c.Process(t, from, log),
		ready: make(chan struct{}), moved: make(chan struct{}), heard: time.Now(), spent: map[string]bool{},
	}
}

// initID is the id of the request whose answer says that the process is ready.
const initID = "initialize"

// initialize has the process get ready.
func (s *session) initialize() {
	// Without the switch newer CLIs go on with the system prompt that the session was begun with, whatever the flags of a
	// later process say.
	body := map[string]any{"subtype": "initialize", "systemPromptSnapshot": false}
	if s.tools {
		body["sdkMcpServers"] = []string{cli.ServerName}
	}
	s.request(initID, body)
}

// request sends a request of the control protocol.
func (s *session) request(id string, body map[string]any) {
	s.proc.Send(map[string]any{"type": "control_request", "request_id": id, "request": body})
}

// say writes a message.
func (s *session) say(l line) {
	s.proc.Send(map[string]any{
		"type": "user", "uuid": l.uuid, "message": map[string]any{"role": "user", "content": l.text},
	})
}

// isAlive reports whether the process runs.
func (s *session) isAlive() bool {
	select {
	case <-s.proc.Exited():
		return false
	default:
		return true
	}
}

// died is the error of a process that ended by itself.
func (s *session) died(p *Pool, class agent.Class) *agent.Failure {
	s.mu.Lock()
	intruder := s.intruder
	s.mu.Unlock()
	if intruder != nil {
		return &agent.Failure{Class: agent.Intruded, Detail: fmt.Sprintf("process %d wrote into the session", *intruder)}
	}
	detail := s.proc.Ended()
	if text := s.proc.Stderr(); text != "" {
		detail += ": " + p.redact(text)
	}
	return &agent.Failure{Class: class, Detail: detail}
}
