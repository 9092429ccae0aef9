// Package tools is the host's MCP server: the agent's tools besides Claude Code's own, which are the host's and those of
// plugins. It handles one message at a time and has no transport: the messages arrive over claude's pipe.
package tools

import (
	"cmp"
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Name is the server's name: its tools are named mcp__<name>__<tool>.
const Name = "clawhost"

const (
	// side limits the concurrent calls of one turn, and waiting how many more may wait.
	side    = 8
	waiting = 64
)

// Store is what the host's own tools read, and where uses of tools are noted.
type Store interface {
	Session(ctx context.Context, key string) (domain.Session, error)
	Sessions(ctx context.Context, after string, limit int) ([]domain.Session, error)
	Transcript(ctx context.Context, session string, before int64, limit int) ([]chat.TranscriptEntry, error)
	NoteToolUse(ctx context.Context, session string, u domain.ToolUse) error
}

// Intake takes what the agent does to another session.
type Intake interface {
	// FromAgent accepts a prompt for a session, a compaction, or a reset, once for an id. False: the session cannot take it.
	FromAgent(ctx context.Context, id domain.Key, s domain.Session, m domain.Message, reset bool) (bool, error)
}

// Options are the settings and dependencies of a server.
type Options struct {
	Version       string // of the host
	Plugins       *plugins.Registry
	Store         Store
	Conversations *conversation.Resolver
	Intake        Intake
	Files         *files.Store // of plugins
	Jobs          *jobs.Jobs
	Manual        fs.FS            // the host's documentation, as Markdown
	Zone          *time.Location   // of the times that the model reads; nil: UTC
	Metrics       *metrics.Metrics // count the calls; nil: nothing does
}

// Refusal is an error that the model reads.
type Refusal string

// Error returns the text.
func (r Refusal) Error() string { return string(r) }

// Server offers tools.
type Server struct {
	options Options
	own     []ownTool
	log     hclog.Logger

	turn   chan struct{} // a semaphore that guards the following fields
	known  map[string]known
	logged map[string]bool // logged reasons about the offer
	offer  *offer
}

// New returns a server.
func New(options Options, log hclog.Logger) *Server {
	if options.Zone == nil {
		options.Zone = time.UTC
	}
	s := &Server{options: options, log: log, turn: make(chan struct{}, 1), known: map[string]known{}, logged: map[string]bool{}}
	s.own = []ownTool{s.messageTool(), s.sessionsTool(), s.membersTool(), s.jobsTool(), s.manualTool()}
	return s
}

// links are the users of each person that the config knows.
func (s *Server) links() session.Links {
	return session.Links(s.options.Conversations.Config().Session.IdentityLinks)
}

// Turn is the server for one turn.
type Turn struct {
	server  *Server
	id      string
	caller  chat.Caller
	timeout time.Duration   // of a call
	only    config.Patterns // of the tools that are offered
	outbox  Outbox

	folder     string // in which the agent works
	mayUseBash bool

	slots chan struct{} // held by running calls
	queue chan struct{} // held by all calls

	mu    sync.Mutex
	calls map[string]*running // by the message's id
	posts int                 // messages sent or attempted

	permitted map[string]JobArguments // by the use of the tool jobs
}

// running is a call that can be cancelled.
type running struct{ cancel context.CancelFunc }

// Turn returns the server for a turn of a conversation. One that is only expected needs no outbox, as no tool is
// called for it.
func (s *Server) Turn(id string, c *conversation.Conversation, outbox Outbox) *Turn {
	return &Turn{
		server: s, id: id, caller: c.Caller, timeout: c.Agent.Claude.ToolTimeout, only: c.Tools, outbox: outbox,
		folder:     cmp.Or(c.Folder, c.Agent.Workspace),
		mayUseBash: mayUseBash(c.Agent.Claude.DisallowedTools, agent.Profile{Only: c.Tools}),
		slots:      make(chan struct{}, side), queue: make(chan struct{}, side+waiting), calls: map[string]*running{},
	}
}
