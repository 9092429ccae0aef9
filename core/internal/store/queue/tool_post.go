package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// PostByTool posts what a run's agent sends by a tool, once for a key, as [delivery.Store.Post] does; and notes with the run what of it is
// for the run's own chat, so that its next attempt, if there is one, knows of it by [domain.Run]. The error is [domain.ErrFenced] for a run
// that has lost its lane. It returns the message's number if it has one.
func (s *Store) PostByTool(ctx context.Context, runID int64, m domain.ToolPost) (number int64, err error) {
	if len(m.Items) == 0 || m.Key == (domain.Key{}) {
		return 0, errors.New("post by tool: there is no item, or no key")
	}
	if err := delivery.Check(m.Items); err != nil {
		return 0, fmt.Errorf("post by tool: %w", err)
	}
	return engine.Do(ctx, s.db, "post by tool", func(t *engine.Tx) (int64, error) { return tell(t, runID, m) })
}

func tell(t *engine.Tx, runID int64, m domain.ToolPost) (number int64, err error) {
	h, err := fence(t, runID)
	if err != nil {
		return 0, err
	}
	var fresh bool
	if m.Numbered {
		number, fresh, err = postNumbered(t, h.session, m)
	} else {
		_, fresh, err = delivery.PostOnce(t, m.Key, m.From, m.Items)
	}
	if err != nil || !fresh || m.Sent == nil {
		return number, err
	}
	return number, recordSent(t, h, *m.Sent, m.Files)
}

// recordSent records what a run has sent to its own chat, and the files that this used.
func recordSent(t *engine.Tx, h held, more domain.SentByTool, files []domain.OutgoingFile) error {
	if err := delivery.RecordFiles(t, files); err != nil {
		return err
	}
	var kept string
	err := t.Row(`SELECT told FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3`, []any{h.session, h.lane, h.seq}, &kept)
	if err != nil {
		return err
	}
	sent, err := decodeSent(kept)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(append(sent, more))
	if err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE inbox SET told = ?4 WHERE session = ?1 AND lane = ?2 AND seq = ?3`, h.session, h.lane, h.seq, string(raw))
	return err
}

func decodeSent(raw string) (sent []domain.SentByTool, err error) {
	if raw == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(raw), &sent); err != nil {
		return nil, fmt.Errorf("what a run has sent: %w", err)
	}
	return sent, nil
}
