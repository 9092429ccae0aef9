// Package early has the processes of turns started before the turns begin: while a message waits for more of its writer, Claude Code
// starts beside it.
package early

import (
	"context"
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// most bounds the expected turns that are not looked at yet. Further ones begin without an early start.
const most = 16

// Store is what a starter needs of package store.
type Store interface {
	Session(ctx context.Context, key string) (domain.Session, error)
}

// Claude starts processes. equip.Claude implements it.
type Claude interface {
	// Expect starts the process of a turn that is about to come, and returns at once.
	Expect(ctx context.Context, t agent.Turn)
}

// Worktrees tells which conversations work in a copy of their folder. worktree.Worktrees implements it.
type Worktrees interface {
	// Due reports whether the next turn of a session makes the worktree that it works in.
	Due(s domain.Session) bool
}

// Options are the collaborators of a starter.
type Options struct {
	Store         Store
	Conversations *conversation.Resolver
	Prompts       *prompt.Builder
	Tools         *tools.Server
	Claude        Claude
	Worktrees     Worktrees
}

// Starter has processes started. It is safe for concurrent use.
type Starter struct {
	options  Options
	log      hclog.Logger
	expected chan expected
}

// expected is a turn that is about to come.
type expected struct {
	session string
	message domain.Message // whose author and chat decide how Claude is run
}

// New returns a starter, which [Starter.Run] has work.
func New(options Options, log hclog.Logger) *Starter {
	return &Starter{options: options, log: log, expected: make(chan expected, most)}
}

// Expect notes that a message of a person who may write was accepted, or that one is about to come, in a session. It never blocks. Package inbox
// calls it.
func (s *Starter) Expect(session string, m domain.Message) {
	select {
	case s.expected <- expected{session, m}:
	default: // many come at once: the machine is busy with their turns
	}
}

// Run starts processes until ctx ends.
func (s *Starter) Run(ctx context.Context) {
	for {
		select {
		case e := <-s.expected:
			s.start(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}

// start has the process of an expected turn started.
func (s *Starter) start(ctx context.Context, e expected) {
	session, err := s.options.Store.Session(ctx, e.session)
	if errors.Is(err, domain.ErrNotFound) {
		session, err = domain.Session{Key: e.session}, nil
	}
	if err != nil {
		s.log.Debug("claude is not started early", "session", e.session, "error", err)
		return
	}
	if s.options.Worktrees.Due(session) {
		return // where it works is not known yet
	}
	c := s.options.Conversations.Message(e.message, session)
	if c.Missing != "" || session.Folder != "" && !s.options.Conversations.Folders(c.Agent).Has(session.Folder) {
		return // the turn says so
	}
	s.options.Claude.Expect(ctx, agent.Turn{
		Agent: c.Agent.Label, Folder: session.Folder, Worktree: session.Worktree, Key: session.Key, Session: session.ClaudeSession,
		Started: session.ClaudeStarted, ForkOf: session.ForkOf, Profile: s.options.Prompts.Profile(c), Authority: e.message.Authority,
		Tools: s.options.Tools.Turn("", c, nil),
	})
}
