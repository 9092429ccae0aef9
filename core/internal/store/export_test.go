package store

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ResetSession begins a new claude session as the acceptance of a reset does. A message that was claimed before stays with the old one. It returns
// false when there is no such session.
func (s *Store) ResetSession(ctx context.Context, key string) (domain.Session, bool, error) {
	session, err := step(ctx, s, "reset session", func(t *tx) (domain.Session, error) {
		if _, _, err := t.beginClaudeSession(key); err != nil {
			return domain.Session{}, err
		}
		return findSession(t, key)
	})
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Session{}, false, nil
	}
	return session, err == nil, err
}

// AppendTranscript adds entries to a session's history, as the steps do that have something said in it.
func (s *Store) AppendTranscript(ctx context.Context, session string, entries []chat.TranscriptEntry) error {
	_, err := step(ctx, s, "append transcript", func(t *tx) (nothing, error) { return nothing{}, t.appendTranscript(session, nil, entries) })
	return err
}

// Grant keeps grants without a question.
func (s *Store) Grant(ctx context.Context, grants ...domain.Grant) error {
	_, err := step(ctx, s, "grant", func(t *tx) (nothing, error) { return nothing{}, t.grant(grants) })
	return err
}
