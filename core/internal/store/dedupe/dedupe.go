// Package dedupe remembers by their keys which events were accepted and what was posted, so that neither happens twice.
package dedupe

import (
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// CheckEvent rejects an event that could not be found again.
func CheckEvent(id chat.EventID, channel, session string) error {
	switch {
	case id == "" || len(id) > chat.MaxEventID:
		return fmt.Errorf("an event id has 1 to %d bytes, this one has %d", chat.MaxEventID, len(id))
	case channel == "":
		return errors.New("the message has no channel")
	case session == "":
		return errors.New("the message has no session")
	}
	return nil
}

// RecordEvent records an event, and reports whether it is new.
func RecordEvent(t *engine.Tx, channel string, id chat.EventID) (bool, error) {
	n, err := t.Exec(`INSERT INTO dedupe (kind, channel, id, seen_at) VALUES ('event', ?1, ?2, ?3) ON CONFLICT DO NOTHING`,
		channel, id, t.Now)
	return n > 0, err
}

// Posted returns what was noted with a key of a post; the error is [sql.ErrNoRows] for one that is new.
func Posted(q engine.Querier, key domain.Key) (ref int64, err error) {
	err = q.Row(`SELECT ref FROM dedupe WHERE kind = 'post' AND channel = '' AND id = ?1`, []any{key.String()}, &ref)
	return ref, err
}

// RecordPost records the key of a post.
func RecordPost(t *engine.Tx, key domain.Key, ref int64) error {
	_, err := t.Exec(`INSERT INTO dedupe (kind, channel, id, seen_at, ref) VALUES ('post', '', ?1, ?2, ?3)`, key.String(), t.Now, ref)
	return err
}
