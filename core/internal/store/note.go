package store

import (
	"context"
	"database/sql"
)

// maxHistories is how many sessions keep what was said in them while the agent was not spoken to; those in which nothing
// was said for the longest are forgotten first.
const maxHistories = 1000

// Note tells the session's next turn something. The session need not have a row.
func (s *Store) Note(ctx context.Context, session string, notes ...Note) error {
	_, err := step(ctx, s, "note", func(t *tx) (nothing, error) { return nothing{}, t.note(session, notes) })
	return err
}

// Overhear keeps an event that starts no turn, unless it was kept or accepted before.
func (s *Store) Overhear(ctx context.Context, o Overheard) (duplicate bool, err error) {
	return step(ctx, s, "overhear", func(t *tx) (bool, error) {
		fresh, err := t.unseen(o.Channel, o.EventID)
		if err != nil || !fresh {
			return !fresh, err
		}
		if o.Note != nil && o.Limit > 0 {
			if err := t.remember(o.Session, *o.Note, o.Limit); err != nil {
				return false, err
			}
		}
		return false, t.appendTranscript(o.Session, o.Transcript)
	})
}

// remember keeps what was said in a session, among the newest of its kind.
func (t *tx) remember(session string, note Note, limit int) error {
	var known bool
	if err := t.row(`SELECT EXISTS (SELECT 1 FROM histories WHERE session = ?1)`, []any{session}, &known); err != nil {
		return err
	}
	if _, err := t.exec(`INSERT INTO histories (session, touched_at) VALUES (?1, ?2)
		ON CONFLICT (session) DO UPDATE SET touched_at = excluded.touched_at`, session, t.now); err != nil {
		return err
	}
	if !known {
		if err := t.forgetHistories(); err != nil {
			return err
		}
	}
	return t.noteAmong(session, note, limit)
}

// forgetHistories keeps the sessions with a history within their number.
func (t *tx) forgetHistories() error {
	var oldest []string
	err := t.each(`SELECT session FROM histories ORDER BY touched_at DESC LIMIT 100 OFFSET ?1`, []any{maxHistories}, func(rows *sql.Rows) error {
		var session string
		defer func() { oldest = append(oldest, session) }()
		return rows.Scan(&session)
	})
	if err != nil {
		return err
	}
	for _, session := range oldest {
		if _, err := t.exec(`DELETE FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL`, session, NoteHistory); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM histories WHERE session = ?1`, session); err != nil {
			return err
		}
	}
	return nil
}

// noteAmong adds a note and keeps only the newest ones of its kind that no turn has yet; the oldest of these then stands
// for the ones that are gone, too.
func (t *tx) noteAmong(session string, note Note, limit int) error {
	if err := t.note(session, []Note{note}); err != nil {
		return err
	}
	var over, gone int64
	err := t.row(`SELECT COALESCE(MAX(id), 0) FROM (SELECT id FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL
		ORDER BY id DESC LIMIT 1 OFFSET ?3)`, []any{session, note.Kind, limit}, &over)
	if err != nil || over == 0 {
		return err
	}
	err = t.each(`DELETE FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL AND id <= ?3 RETURNING count`,
		[]any{session, note.Kind, over}, func(rows *sql.Rows) error {
			var count int64
			defer func() { gone += count }()
			return rows.Scan(&count)
		})
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE notes SET count = count + ?3 WHERE id =
		(SELECT MIN(id) FROM notes WHERE session = ?1 AND kind = ?2 AND batch IS NULL)`, session, note.Kind, gone)
	return err
}

func (t *tx) note(session string, notes []Note) error {
	for _, n := range notes {
		_, err := t.exec(`INSERT INTO notes (session, kind, at, sender, text, count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
			session, n.Kind, millis(n.At), n.Sender, cutText(n.Text), max(n.Count, 1))
		if err != nil {
			return err
		}
	}
	return nil
}

// cutText bounds the text of a note.
func cutText(text string) string {
	const most = 8 << 10 // bytes
	if len(text) <= most {
		return text
	}
	return text[:most]
}

// takeNotes gives a session's notes to the turn whose first message has this seq, and returns what that turn has.
func (t *tx) takeNotes(session string, batch int64) ([]Note, error) {
	var notes []Note
	loose := false
	err := t.each(`SELECT kind, at, sender, text, count, batch IS NULL FROM notes WHERE session = ?1 ORDER BY kind, id`,
		[]any{session}, func(rows *sql.Rows) error {
			var n Note
			var at int64
			var isLoose bool
			if err := rows.Scan(&n.Kind, &at, &n.Sender, &n.Text, &n.Count, &isLoose); err != nil {
				return err
			}
			n.At, loose = moment(at), loose || isLoose
			notes = append(notes, n)
			return nil
		})
	if err != nil || !loose {
		return notes, err
	}
	_, err = t.exec(`UPDATE notes SET batch = ?2 WHERE session = ?1 AND batch IS NULL`, session, batch)
	return notes, err
}
