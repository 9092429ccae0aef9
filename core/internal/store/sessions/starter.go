package sessions

import (
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// maxStarters bounds the threads whose first message is stored; the oldest are deleted first.
const maxStarters = 1000

// KeepStarter stores the first message of a session's thread, unless it is known; "": it is unknown.
func KeepStarter(t *engine.Tx, session, text string) error {
	if text == "" {
		return nil
	}
	n, err := t.Exec(`INSERT INTO starters (session, text, kept_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
		session, CutText(text), t.Now)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.Exec(`DELETE FROM starters WHERE session IN
			(SELECT session FROM starters WHERE session != ?1 ORDER BY kept_at DESC LIMIT 100 OFFSET ?2)`, session, maxStarters-1)
	return err
}
