package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// PutMedia stores the metadata of a channel's file.
func (s *Store) PutMedia(ctx context.Context, instance string, m chat.Media, at time.Time) error {
	if m.Ref == "" {
		return errors.New("put media: the media has no ref")
	}
	return engine.Change(ctx, s.db, "put media", func(t *engine.Tx) error {
		_, err := t.Exec(`INSERT INTO media (instance, ref, kind, mime_type, file_name, size, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (instance, ref) DO UPDATE SET kind = excluded.kind, mime_type = excluded.mime_type,
				file_name = excluded.file_name, size = excluded.size`,
			instance, m.Ref, m.Kind, m.MIMEType, m.FileName, m.Size, engine.Millis(at))
		return err
	})
}

// Media returns the metadata of a channel's file, or [domain.ErrNotFound].
func (s *Store) Media(ctx context.Context, instance string, ref chat.MediaRef) (chat.Media, error) {
	m := chat.Media{Ref: ref}
	err := s.db.View(ctx).Row(`SELECT kind, mime_type, file_name, size FROM media WHERE instance = ?1 AND ref = ?2`,
		[]any{instance, ref}, &m.Kind, &m.MIMEType, &m.FileName, &m.Size)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return chat.Media{}, fmt.Errorf("media: %w", err)
	}
	return m, nil
}

// PutExtract stores what was extracted from a source, whose name the caller chooses. It replaces an earlier result.
func (s *Store) PutExtract(ctx context.Context, source string, e domain.Extract) error {
	return engine.Change(ctx, s.db, "put extract", func(t *engine.Tx) error {
		_, err := t.Exec(`INSERT INTO extracts (source, text, failure, created_at) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (source) DO UPDATE SET text = excluded.text, failure = excluded.failure, created_at = excluded.created_at`,
			source, e.Text, e.Failure, t.Now)
		return err
	})
}

// Extract returns what was extracted from a source, or [domain.ErrNotFound].
func (s *Store) Extract(ctx context.Context, source string) (domain.Extract, error) {
	var e domain.Extract
	err := s.db.View(ctx).Row(`SELECT text, failure FROM extracts WHERE source = ?1`, []any{source}, &e.Text, &e.Failure)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return domain.Extract{}, fmt.Errorf("extract: %w", err)
	}
	return e, nil
}
