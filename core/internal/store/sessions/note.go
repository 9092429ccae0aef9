package sessions

import (
	"context"
	"database/sql"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const (
	// maxHistories bounds the sessions with recorded passive messages; those without new ones for the longest are
	// deleted first.
	maxHistories = 1000
	// maxNotes bounds the notes of a kind for a session's next turn; the newest are kept.
	maxNotes = 100
)

// Note adds notes for a session's next turn; of each kind it gets the newest 100. The session need not have a row.
func (s *Store) Note(ctx context.Context, session string, notes ...domain.Note) error {
	return engine.Change(ctx, s.db, "note", func(t *engine.Tx) error { return AddNotes(t, session, notes) })
}

// Remember adds a passive message to a session's newest of its kind.
func Remember(t *engine.Tx, session string, note domain.Note, limit int) error {
	var known bool
	if err := t.Row(`SELECT EXISTS (SELECT 1 FROM histories WHERE session = ?1)`, []any{session}, &known); err != nil {
		return err
	}
	if _, err := t.Exec(`INSERT INTO histories (session, touched_at) VALUES (?1, ?2)
		ON CONFLICT (session) DO UPDATE SET touched_at = excluded.touched_at`, session, t.Now); err != nil {
		return err
	}
	if !known {
		if err := forgetHistories(t, session); err != nil {
			return err
		}
	}
	return AddNote(t, session, note, limit)
}

// forgetHistories bounds the sessions with a history; the given one stays.
func forgetHistories(t *engine.Tx, newest string) error {
	var oldest []string
	err := t.Each(`SELECT session FROM histories WHERE session != ?1 ORDER BY touched_at DESC LIMIT 100 OFFSET ?2`,
		[]any{newest, maxHistories - 1}, func(rows engine.Rows) error {
			var session string
			defer func() { oldest = append(oldest, session) }()
			return rows.Scan(&session)
		})
	if err != nil {
		return err
	}
	for _, session := range oldest {
		if _, err := t.Exec(`DELETE FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL`, session,
			domain.NoteHistory); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM histories WHERE session = ?1`, session); err != nil {
			return err
		}
	}
	return nil
}

// AddNotes adds notes for a session's next turn.
func AddNotes(t *engine.Tx, session string, notes []domain.Note) error {
	for _, n := range notes {
		if err := AddNote(t, session, n, maxNotes); err != nil {
			return err
		}
	}
	return nil
}

// AddNote adds a note and keeps only the newest of its kind that no turn has yet. For dropped messages the oldest
// remaining note also counts those that were removed.
func AddNote(t *engine.Tx, session string, n domain.Note, limit int) error {
	_, err := t.Exec(`INSERT INTO notes (session, kind, at, sender, text, count, message_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		session, n.Kind, engine.Millis(n.At), n.Sender, CutText(n.Text), max(n.Count, 1), n.MessageID)
	if err != nil {
		return err
	}
	var over, gone, reported int64
	err = t.Row(`SELECT id FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL ORDER BY id DESC LIMIT 1 OFFSET ?3`,
		[]any{session, n.Kind, limit}, &over)
	if err != nil {
		return engine.NoRows(err)
	}
	err = t.Each(`DELETE FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL AND id <= ?3 RETURNING count, told`,
		[]any{session, n.Kind, over}, func(rows engine.Rows) error {
			var count, of int64
			defer func() { gone, reported = gone+count, reported+of }()
			return rows.Scan(&count, &of)
		})
	if err != nil || n.Kind != domain.NoteOverflow {
		return err
	}
	_, err = t.Exec(`UPDATE notes SET count = count + ?3, told = told + ?4 WHERE id =
		(SELECT MIN(id) FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL)`, session, n.Kind, gone, reported)
	return err
}

// CutText bounds the text of a note.
func CutText(text string) string {
	const most = 8 << 10 // bytes
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// TakeNotes gives a session's notes to the turn whose first message has this seq, and returns the turn's notes. Further
// notes, including those of turns that never ended, are added only if more is true. Dropped is as in [domain.Run].
func TakeNotes(t *engine.Tx, session string, batch int64, more bool) (notes []domain.Note, dropped int, err error) {
	others := false
	err = t.Each(`SELECT kind, at, sender, text, count, told, batch, message_id FROM notes WHERE session = ?1 ORDER BY kind, id`,
		[]any{session}, func(rows engine.Rows) error {
			var n domain.Note
			var at int64
			var reported int
			var of sql.NullInt64
			if err := rows.Scan(&n.Kind, &at, &n.Sender, &n.Text, &n.Count, &reported, &of, &n.MessageID); err != nil {
				return err
			}
			own := of.Valid && of.Int64 == batch
			if !own && !more {
				return nil
			}
			n.At, others = engine.Moment(at), others || !own
			notes = append(notes, n)
			if n.Kind == domain.NoteOverflow {
				dropped += n.Count - reported
			}
			return nil
		})
	if err != nil || !others {
		return notes, dropped, err
	}
	_, err = t.Exec(`UPDATE notes SET batch = ?2 WHERE session = ?1`, session, batch)
	return notes, dropped, err
}

// SettleNotes deletes a turn's notes once claude has read them, and keeps the ids of the messages among them. Otherwise they
// wait for the next turn.
func SettleNotes(t *engine.Tx, session string, batch int64, read bool) error {
	if !read {
		_, err := t.Exec(`UPDATE notes SET batch = NULL WHERE session = ?1 AND batch = ?2`, session, batch)
		return err
	}
	_, err := t.Exec(`INSERT INTO shown_messages (session, message_id, shown_at)
		SELECT session, message_id, ?3 FROM notes WHERE session = ?1 AND batch = ?2 AND message_id != ''
		ON CONFLICT (session, message_id) DO UPDATE SET shown_at = excluded.shown_at`, session, batch, t.Now)
	if err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM notes WHERE session = ?1 AND batch = ?2`, session, batch)
	return err
}
