package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TranscriptGrew is the topic of new entries.
const TranscriptGrew engine.Topic = "transcript"

// TranscriptAppended returns a channel that receives a value when a session's history has new entries. One value may
// stand for many.
func (s *Store) TranscriptAppended() <-chan struct{} { return s.appended }

// maxIDs is how many messages of a session can be named, of each kind.
const maxIDs = 1000

// AppendTranscript appends entries to a session's history. The network's ids are those of the first entries; made is how
// the answers among them were made, or nil.
func AppendTranscript(t *engine.Tx, session string, made *domain.Made, entries []chat.TranscriptEntry, ids ...chat.MessageID) error {
	how, err := encodeMade(made)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		t.Announce(TranscriptGrew)
	}
	for i, e := range entries {
		var id chat.MessageID
		if i < len(ids) {
			id = ids[i]
		}
		by := ""
		if e.Role == chat.Assistant {
			by = how
		}
		_, err := t.Exec(`INSERT INTO transcript (session, role, text, said_at, message_id, made) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
			session, e.Role, e.Text, engine.Millis(e.At), id, by)
		if err != nil {
			return err
		}
	}
	return nil
}

// encodeMade returns how an answer was made as it is stored; nil is empty.
func encodeMade(made *domain.Made) (string, error) {
	if made == nil {
		return "", nil
	}
	data, err := json.Marshal(made)
	return string(data), err
}

// Transcript returns the newest entries of a session's history with ids smaller than before, oldest first. before is 0
// for the newest of all. limit is 1 to 1000; another value means 1000. A page of long texts has fewer.
func (s *Store) Transcript(ctx context.Context, session string, before int64, limit int) ([]chat.TranscriptEntry, error) {
	list, err := s.Entries(ctx, session, before, limit)
	var entries []chat.TranscriptEntry
	for _, e := range list {
		entries = append(entries, e.TranscriptEntry)
	}
	return entries, err
}

// maxPage limits the texts of a page of a transcript, in bytes. The entry that exceeds it is the page's last one.
const maxPage = 4 << 20

// full adds a text to the size of a page, and returns engine.ErrEnough once the page is full.
func full(size *int, text string) error {
	if *size += len(text); *size > maxPage {
		return engine.ErrEnough
	}
	return nil
}

// Entries returns what [Store.Transcript] returns, with how the answers were made.
func (s *Store) Entries(ctx context.Context, session string, before int64, limit int) ([]domain.Entry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	var entries []domain.Entry
	size := 0
	err := s.db.View(ctx).Each(`SELECT id, role, text, said_at, made FROM transcript WHERE session = ?1 AND id < ?2
		ORDER BY id DESC LIMIT ?3 + 0`, []any{session, before, engine.Bounded(limit)}, func(rows engine.Rows) error {
		var e domain.Entry
		var saidAt int64
		var made string
		if err := rows.Scan(&e.ID, &e.Role, &e.Text, &saidAt, &made); err != nil {
			return err
		}
		e.At = engine.Moment(saidAt)
		if made != "" && json.Unmarshal([]byte(made), &e.Made) != nil {
			e.Made = nil // of a newer version
		}
		entries = append(entries, e)
		return full(&size, e.Text)
	})
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	slices.Reverse(entries)
	return entries, nil
}

// MessageIDs returns the networks' ids of the newest messages that a session was given: at most 1000 of those in its history,
// 1000 that were given with them, and those that wait.
func (s *Store) MessageIDs(ctx context.Context, session string) (ids []chat.MessageID, err error) {
	err = s.db.View(ctx).Each(`SELECT message_id FROM (SELECT message_id FROM transcript WHERE session = ?1 ORDER BY id DESC LIMIT ?3 + 0) AS said
		UNION SELECT message_id FROM (SELECT message_id FROM shown_messages WHERE session = ?1 ORDER BY shown_at DESC LIMIT ?3 + 0) AS shown
		UNION SELECT message_id FROM inbox WHERE session = ?1 AND lane = ?2`, []any{session, domain.TurnLane, maxIDs}, func(rows engine.Rows) error {
		var id chat.MessageID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if id != "" {
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ids of messages: %w", err)
	}
	return ids, nil
}

// TranscriptAfter returns the entries of all sessions with ids greater than after, oldest first. limit is 1 to 1000;
// another value means 1000. A page of long texts has fewer.
func (s *Store) TranscriptAfter(ctx context.Context, after int64, limit int) ([]domain.Followed, error) {
	var list []domain.Followed
	size := 0
	err := s.db.View(ctx).Each(`SELECT session, id, role, text, said_at FROM transcript WHERE id > ?1 ORDER BY id LIMIT ?2 + 0`,
		[]any{after, engine.Bounded(limit)}, func(rows engine.Rows) error {
			var f domain.Followed
			var saidAt int64
			if err := rows.Scan(&f.Session, &f.Entry.ID, &f.Entry.Role, &f.Entry.Text, &saidAt); err != nil {
				return err
			}
			f.Entry.At = engine.Moment(saidAt)
			list = append(list, f)
			return full(&size, f.Entry.Text)
		})
	if err != nil {
		return nil, fmt.Errorf("transcript after: %w", err)
	}
	return list, nil
}

// Follower returns the id of the last entry that a follower of all transcripts has received. A new follower begins with
// the next entry.
func (s *Store) Follower(ctx context.Context, name string) (after int64, err error) {
	return engine.Do(ctx, s.db, "follower", func(t *engine.Tx) (after int64, err error) {
		err = t.Row(`INSERT INTO followers (name, after) VALUES (?1, COALESCE((SELECT MAX(id) FROM transcript), 0))
			ON CONFLICT (name) DO UPDATE SET after = followers.after RETURNING after`, []any{name}, &after)
		return after, err
	})
}

// Followed records that a follower has received all entries up to an id.
func (s *Store) Followed(ctx context.Context, name string, id int64) error {
	return engine.Change(ctx, s.db, "followed", func(t *engine.Tx) error {
		_, err := t.Exec(`INSERT INTO followers (name, after) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET after = excluded.after`, name, id)
		return err
	})
}
