// Package sessions finds the conversations of Claude Code that a chat may continue: those of its folder that were begun in a terminal, and its
// own earlier ones.
package sessions

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// most is how many sessions are listed.
const most = 15

// Store knows whose claude sessions are: store.Store.
type Store interface {
	// ClaudeSessionOf returns the key of the session that a claude session is, or was, of; empty: of none that is known.
	ClaudeSessionOf(ctx context.Context, claude string) (key string, err error)
}

// Claude knows the sessions of the CLI: claude.Pool.
type Claude interface {
	// Sessions returns the sessions of a folder of an agent, and which of all sessions other processes have open.
	Sessions(agent, folder string) (transcript.Folder, map[string]cli.Open, error)
}

// ErrUnknown is returned if no session that may be continued has this id, or if several have.
var ErrUnknown = errors.New("there is no such session")

// Listed is a session that may be continued.
type Listed struct {
	transcript.Entry

	Open    *cli.Open // another process that has it open; nil: none
	Current bool      // the chat continues it now
}

// Sessions finds sessions. It is safe for concurrent use.
type Sessions struct {
	claude Claude
	store  Store
}

// New returns the sessions of the CLI.
func New(claude Claude, store Store) *Sessions { return &Sessions{claude, store} }

// List returns the sessions that a chat may continue where it works, the newest first. Each has all words in one of its texts.
func (s *Sessions) List(ctx context.Context, of domain.Session, words []string) ([]Listed, error) {
	folder, open, err := s.claude.Sessions(session.AgentOf(of.Key), of.Place())
	if err != nil {
		return nil, err
	}
	found, err := folder.List(ctx, most, words, s.permitted(ctx, of))
	if err != nil {
		return nil, err
	}
	list := make([]Listed, len(found))
	for i, e := range found {
		list[i] = listed(of, e, open)
	}
	return list, nil
}

// Find returns the session that a chat may continue whose id begins so. The error may be [ErrUnknown].
func (s *Sessions) Find(ctx context.Context, of domain.Session, id string) (Listed, error) {
	folder, open, err := s.claude.Sessions(session.AgentOf(of.Key), of.Place())
	if err != nil {
		return Listed{}, err
	}
	e, ok, err := folder.Find(id, s.permitted(ctx, of))
	if err == nil && !ok {
		err = ErrUnknown
	}
	return listed(of, e, open), err
}

func listed(of domain.Session, e transcript.Entry, open map[string]cli.Open) Listed {
	e.First, e.Found = written(e.First), written(e.Found)
	l := Listed{Entry: e, Current: e.ID == of.ClaudeSession}
	if o, ok := open[e.ID]; ok {
		l.Open = &o
	}
	return l
}

// header is how a prompt of the host's begins the text of a message.
var header = lazyregexp.New(`(?m)^\[[^\]\n]*\] (.+)$`)

// written is what a person has written, without what the host puts around it.
func written(prompt string) string {
	if found := header().FindStringSubmatch(prompt); found != nil {
		return found[1]
	}
	return prompt
}

// permitted returns whether a chat may continue a session: its own, or one that was begun in a terminal and that no other chat has
// continued. What programs have asked Claude, and what was said in other chats, is not shown, even if the store has forgotten whose it was.
func (s *Sessions) permitted(ctx context.Context, of domain.Session) func(transcript.Entry) (bool, error) {
	return func(e transcript.Entry) (bool, error) {
		owner, err := s.store.ClaudeSessionOf(ctx, e.ID)
		return owner == of.Key || owner == "" && e.Begun, err
	}
}
