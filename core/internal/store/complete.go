package store

import (
	"context"
	"fmt"
)

// Complete ends a run: its message leaves the inbox, its answer enters the outbox, the transcript and the session's
// figures are written and the lane is free for its next message, all of it or nothing. State is how the run ended and is
// not [RunLost]. The error is [ErrFenced] for a run that has lost its lane: its result must be dropped.
func (s *Store) Complete(ctx context.Context, runID int64, c Completion) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	_, err := step(ctx, s, "complete", func(t *tx) (nothing, error) { return nothing{}, t.complete(runID, c) })
	return err
}

func (c Completion) check() error {
	switch c.State {
	case RunDone, RunFailed, RunCancelled:
	default:
		return fmt.Errorf("a run cannot end as %q", c.State)
	}
	return checkPieces(c.Pieces)
}

func (t *tx) complete(runID int64, c Completion) error {
	h, err := fence(t, runID)
	if err != nil {
		return err
	}
	var done event
	var claude string
	err = t.row(`DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND seq = ?3 RETURNING channel, event_id, claude_session`,
		[]any{h.session, h.lane, h.seq}, &done.channel, &done.id, &claude)
	if err != nil {
		return err
	}
	if err := t.free(h); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE runs SET state = ?2, ended_at = ?3, error = ?4, answer = ?5 WHERE id = ?1`,
		runID, c.State, t.now, c.Error, c.Answer)
	if err != nil {
		return err
	}
	if _, err := t.post(runID, c.Pieces); err != nil {
		return err
	}
	if err := t.appendTranscript(h.session, c.Transcript); err != nil {
		return err
	}
	if c.Turn != nil {
		if err := t.addFigures(h.session, claude, *c.Turn); err != nil {
			return err
		}
	}
	t.after.ended = append(t.after.ended, done)
	return nil
}

// free ends a run's hold on its lane, whose message is gone from the inbox. The lane's own counter decides whether it is
// ready again; behind the lanes that have waited longer, and not before its new head is.
func (t *tx) free(h held) error {
	var head int64
	err := t.row(`SELECT COALESCE((SELECT ready_at FROM inbox WHERE session = ?1 AND lane = ?2 ORDER BY seq LIMIT 1), 0)`,
		[]any{h.session, h.lane}, &head)
	if err != nil {
		return err
	}
	var queued int64
	err = t.row(`UPDATE lanes SET run_id = NULL, queued = queued - 1, ready_at = CASE WHEN queued > 1 THEN ?3 END
		WHERE session = ?1 AND lane = ?2 RETURNING queued`,
		[]any{h.session, h.lane, max(head, t.now)}, &queued)
	if err != nil {
		return err
	}
	if queued > 0 {
		t.after.ready(h.lane)
	}
	return nil
}

// addFigures adds what a turn cost. Its other figures are of its claude session, which may have been replaced meanwhile.
func (t *tx) addFigures(session, claude string, f TurnFigures) error {
	u := f.Usage
	_, err := t.exec(`UPDATE sessions SET turns = turns + ?2, input_tokens = input_tokens + ?3, cache_tokens = cache_tokens + ?4,
		output_tokens = output_tokens + ?5, cost_micros = cost_micros + ?6 WHERE key = ?1`,
		session, u.Turns, u.InputTokens, u.CacheTokens, u.OutputTokens, u.CostMicros)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE sessions SET model = ?3, context_tokens = ?4, context_window = ?5 WHERE key = ?1 AND claude_session = ?2`,
		session, claude, f.Model, f.ContextTokens, f.ContextWindow)
	return err
}
