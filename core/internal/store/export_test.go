package store

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/questions"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ResetSession begins a new claude session as the acceptance of a reset does. A message that was claimed before stays with the old one. It returns
// false when there is no such session.
func (s *Store) ResetSession(ctx context.Context, key string) (domain.Session, bool, error) {
	session, err := engine.Do(ctx, s.db, "reset session", func(t *engine.Tx) (domain.Session, error) {
		if _, _, err := sessions.BeginClaude(t, key); err != nil {
			return domain.Session{}, err
		}
		return sessions.Find(t, key)
	})
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Session{}, false, nil
	}
	return session, err == nil, err
}

// AppendTranscript adds entries to a session's history, as the steps do that have something said in it.
func (s *Store) AppendTranscript(ctx context.Context, session string, entries []chat.TranscriptEntry) error {
	return engine.Change(ctx, s.db, "append transcript", func(t *engine.Tx) error { return sessions.AppendTranscript(t, session, nil, entries) })
}

// Grant keeps grants without a question.
func (s *Store) Grant(ctx context.Context, grants ...domain.Grant) error {
	return engine.Change(ctx, s.db, "grant", func(t *engine.Tx) error { return questions.Grant(t, grants) })
}

// Unlock lets other processes use the state folder, without closing the store.
func (s *Store) Unlock() error { return s.unlock() }
