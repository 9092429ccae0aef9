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

const (
	// leftoverAge is how long the chunks are kept of a content that was not recorded, since the last of them, and of one that was
	// replaced, which somebody may be reading.
	leftoverAge = 24 * time.Hour
	// sweptChunks and sweptContents bound what one step deletes, so that other steps get their turn.
	sweptChunks   = 16
	sweptContents = 100
)

// PutChunk stores a part of a content that is recorded later by [Store.PutContent], or deleted after a day. The parts are numbered 0, 1,
// 2 and so on, and none is larger than [domain.ChunkBytes].
func (s *Store) PutChunk(ctx context.Context, instance, content string, part int, bytes []byte) error {
	if len(bytes) == 0 || len(bytes) > domain.ChunkBytes || content == "" {
		return fmt.Errorf("put chunk: a part of %d bytes", len(bytes))
	}
	return engine.Change(ctx, s.db, "put chunk", func(t *engine.Tx) error {
		if err := leaveOver(t, instance, content, t.Now+leftoverAge.Milliseconds()); err != nil {
			return err
		}
		if _, err := t.Exec(`INSERT INTO media_chunks (instance, content, part, bytes) VALUES (?1, ?2, ?3, ?4)`, instance, content, part, bytes); err != nil {
			return err
		}
		return use(t, instance, 0, int64(len(bytes)))
	})
}

// PutContent records a file whose content is stored. It replaces another content of the file. If a part of the content is missing, nothing
// is recorded.
func (s *Store) PutContent(ctx context.Context, instance string, m chat.Media, c domain.Content) error {
	if m.Ref == "" || c.Name == "" {
		return errors.New("put content: the media has no ref or no content")
	}
	return engine.Change(ctx, s.db, "put content", func(t *engine.Tx) error {
		var stored int64
		if err := t.Row(`SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM media_chunks WHERE instance = ?1 AND content = ?2`, []any{instance, c.Name}, &stored); err != nil {
			return err
		}
		if stored != c.Size {
			return fmt.Errorf("%d of its %d bytes are stored", stored, c.Size)
		}
		if _, err := t.Exec(`DELETE FROM media_leftovers WHERE instance = ?1 AND content = ?2`, instance, c.Name); err != nil {
			return err
		}
		var before string
		if err := engine.NoRows(t.Row(`SELECT content FROM media WHERE instance = ?1 AND ref = ?2`, []any{instance, m.Ref}, &before)); err != nil {
			return err
		}
		if before == c.Name {
			return nil
		}
		if before != "" {
			if err := abandon(t, instance, before, t.Now+leftoverAge.Milliseconds()); err != nil {
				return err
			}
		}
		if _, err := t.Exec(`INSERT INTO media (instance, ref, kind, mime_type, file_name, size, created_at, content, digest)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
			ON CONFLICT (instance, ref) DO UPDATE SET kind = excluded.kind, mime_type = excluded.mime_type, file_name = excluded.file_name,
				size = excluded.size, created_at = excluded.created_at, content = excluded.content, digest = excluded.digest`,
			instance, m.Ref, m.Kind, m.MIMEType, m.FileName, c.Size, t.Now, c.Name, c.Digest); err != nil {
			return err
		}
		return use(t, instance, 1, 0)
	})
}

// Content returns the content of a file, or [domain.ErrNotFound] if it is not in the database.
func (s *Store) Content(ctx context.Context, instance string, ref chat.MediaRef) (domain.Content, error) {
	var c domain.Content
	var at int64
	err := s.db.View(ctx).Row(`SELECT content, size, digest, created_at FROM media WHERE instance = ?1 AND ref = ?2 AND content != ''`,
		[]any{instance, ref}, &c.Name, &c.Size, &c.Digest, &at)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return domain.Content{}, fmt.Errorf("content: %w", err)
	}
	c.At = engine.Moment(at)
	return c, nil
}

// Chunk returns a part of a content, or [domain.ErrNotFound].
func (s *Store) Chunk(ctx context.Context, instance, content string, part int) (bytes []byte, err error) {
	err = s.db.View(ctx).Row(`SELECT bytes FROM media_chunks WHERE instance = ?1 AND content = ?2 AND part = ?3`, []any{instance, content, part}, &bytes)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("chunk: %w", err)
	}
	return bytes, nil
}

// ContentUse returns what the contents take up, by instance, with those that are being written or deleted.
func (s *Store) ContentUse(ctx context.Context) (map[string]domain.ContentUse, error) {
	all := map[string]domain.ContentUse{}
	err := s.db.View(ctx).Each(`SELECT instance, files, bytes FROM media_use`, nil, func(rows engine.Rows) error {
		var instance string
		var u domain.ContentUse
		err := rows.Scan(&instance, &u.Files, &u.Bytes)
		all[instance] = u
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("content use: %w", err)
	}
	return all, nil
}

// OldestContents lists files whose contents are in the database, of an instance, or of all if it is empty: the oldest first, those after
// a file, or from the beginning after the zero one. More than [engine.MaxRows] are not listed at once.
func (s *Store) OldestContents(ctx context.Context, instance string, after domain.StoredFile, limit int) (list []domain.StoredFile, err error) {
	query, args := `SELECT instance, ref, size, created_at FROM media WHERE content != '' AND (created_at, instance, ref) > (?1, ?2, ?3)
		ORDER BY created_at, instance, ref LIMIT ?4 + 0`, []any{int64(0), after.Instance, after.Ref, engine.Bounded(limit)}
	if instance != "" {
		query, args = `SELECT instance, ref, size, created_at FROM media WHERE content != '' AND instance = ?2 AND (created_at, ref) > (?1, ?3)
		ORDER BY created_at, ref LIMIT ?4 + 0`, []any{int64(0), instance, after.Ref, engine.Bounded(limit)}
	}
	if !after.At.IsZero() {
		args[0] = engine.Millis(after.At)
	}
	err = s.db.View(ctx).Each(query, args, func(rows engine.Rows) error {
		var f domain.StoredFile
		var at int64
		err := rows.Scan(&f.Instance, &f.Ref, &f.Size, &at)
		f.At = engine.Moment(at)
		list = append(list, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("oldest contents: %w", err)
	}
	return list, nil
}

// DropContent deletes a file that has a content, or any content if it is empty, in several steps: after the first one the file is not
// found. The content is also deleted if no file has it. A file whose content is not in the database stays.
func (s *Store) DropContent(ctx context.Context, instance string, ref chat.MediaRef, content string) error {
	content, err := engine.Do(ctx, s.db, "drop content", func(t *engine.Tx) (dropped string, err error) {
		err = t.Row(`DELETE FROM media WHERE instance = ?1 AND ref = ?2 AND content != '' AND (?3 = '' OR content = ?3) RETURNING content`,
			[]any{instance, ref, content}, &dropped)
		switch {
		case err == nil:
			return dropped, abandon(t, instance, dropped, t.Now)
		case errors.Is(err, sql.ErrNoRows) && content != "":
			return content, leaveOver(t, instance, content, t.Now)
		}
		return "", engine.NoRows(err)
	})
	for more := content != ""; more && err == nil; {
		more, err = engine.Do(ctx, s.db, "drop content", func(t *engine.Tx) (bool, error) {
			_, more, err := sweep(t, instance, content, sweptChunks)
			return more, err
		})
	}
	return err
}

// sweepContents deletes the chunks of contents that no file has, once they are due, in several steps.
func (s *Store) sweepContents(ctx context.Context) (err error) {
	for more := true; more && err == nil; {
		more, err = engine.Do(ctx, s.db, "sweep contents", sweepDue)
	}
	return err
}

// sweepDue does one step of sweepContents, and reports whether there may be more to do.
func sweepDue(t *engine.Tx) (more bool, err error) {
	type leftover struct{ instance, content string }
	var due []leftover
	err = t.Each(`SELECT instance, content FROM media_leftovers WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2 + 0`, []any{t.Now, sweptContents}, func(rows engine.Rows) error {
		var l leftover
		defer func() { due = append(due, l) }()
		return rows.Scan(&l.instance, &l.content)
	})
	rest := sweptChunks
	for _, l := range due {
		if err != nil || rest == 0 {
			return true, err
		}
		var swept int
		swept, _, err = sweep(t, l.instance, l.content, rest)
		rest -= swept
	}
	return len(due) > 0, err
}

// sweep deletes the first chunks of a content that no file has. It returns their number, and whether there may be more.
func sweep(t *engine.Tx, instance, content string, limit int) (swept int, more bool, err error) {
	var last, bytes int64
	err = t.Each(`SELECT part, LENGTH(bytes) FROM media_chunks WHERE instance = ?1 AND content = ?2 ORDER BY part LIMIT ?3 + 0`,
		[]any{instance, content, limit}, func(rows engine.Rows) error {
			var size int64
			err := rows.Scan(&last, &size)
			bytes += size
			swept++
			return err
		})
	if err != nil {
		return 0, false, err
	}
	if swept > 0 {
		if _, err := t.Exec(`DELETE FROM media_chunks WHERE instance = ?1 AND content = ?2 AND part <= ?3`, instance, content, last); err != nil {
			return 0, false, err
		}
		if err := use(t, instance, 0, -bytes); err != nil {
			return 0, false, err
		}
	}
	if swept == limit {
		return swept, true, nil
	}
	_, err = t.Exec(`DELETE FROM media_leftovers WHERE instance = ?1 AND content = ?2`, instance, content)
	return swept, false, err
}

// abandon has a content deleted when it is due, whose file is deleted or gets another content.
func abandon(t *engine.Tx, instance, content string, due int64) error {
	if err := leaveOver(t, instance, content, due); err != nil {
		return err
	}
	return use(t, instance, -1, 0)
}

// leaveOver says that a content without a file is deleted when it is due.
func leaveOver(t *engine.Tx, instance, content string, due int64) error {
	_, err := t.Exec(`INSERT INTO media_leftovers (instance, content, due_at) VALUES (?1, ?2, ?3)
		ON CONFLICT (instance, content) DO UPDATE SET due_at = excluded.due_at`, instance, content, due)
	return err
}

// use counts what the contents of an instance take up.
func use(t *engine.Tx, instance string, files, bytes int64) error {
	_, err := t.Exec(`INSERT INTO media_use (instance, files, bytes) VALUES (?1, ?2, ?3)
		ON CONFLICT (instance) DO UPDATE SET files = media_use.files + excluded.files, bytes = media_use.bytes + excluded.bytes`, instance, files, bytes)
	return err
}

// purgeMedia deletes the descriptions of files that were recorded before a time, with what they have in the database. It returns the number
// of files.
func purgeMedia(t *engine.Tx, before int64, limit int) (removed int64, err error) {
	type file struct{ instance, content string }
	var gone []file
	err = t.Each(`DELETE FROM media WHERE (instance, ref) IN
		(SELECT instance, ref FROM media WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2 + 0) RETURNING instance, content`,
		[]any{before, limit}, func(rows engine.Rows) error {
			var f file
			removed++
			defer func() {
				if f.content != "" {
					gone = append(gone, f)
				}
			}()
			return rows.Scan(&f.instance, &f.content)
		})
	for _, f := range gone {
		if err == nil {
			err = abandon(t, f.instance, f.content, t.Now)
		}
	}
	return removed, err
}
