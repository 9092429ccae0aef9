package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// Claim starts a run of the head of the lane that has been ready for the longest, and calls take with it. If no lane of
// this kind is ready it waits for one; an error means that ctx has ended before.
//
// Take must not call the store, except for [Store.WatchTurn]. It is called before any step returns that was committed with the claim or
// after it, so that whoever learns of such a step finds the run registered.
//
// Owners' heads come before all others; for [domain.Owners] only they are claimed.
//
// The first claim binds a message to a claude session: the session's current one, or a new one if the message asks for
// it by Fresh. A message that is claimed again keeps its claude session, which Run.Session then describes.
//
// An unreadable head stays where it is, and its lane is retried after an hour, so that it does not block other lanes;
// the error names it.
func (s *Store) Claim(ctx context.Context, lane domain.Lane, whose domain.Whose, take func(*domain.Run)) error {
	var unreadable *unreadableError
	var run *domain.Run
	err := s.db.Run(ctx, engine.Step{
		Waits: []engine.Topic{LaneReady(lane)},
		Run: func(t *engine.Tx) error {
			var next int64
			var err error
			unreadable = nil
			run, next, err = s.claim(t, lane, whose)
			if errors.As(err, &unreadable) {
				return postpone(t, unreadable.session, lane, unreadable.seq, t.Now+setAside.Milliseconds())
			}
			if err == nil && run == nil {
				t.Idle(next)
			}
			return err
		},
		Committed: func() {
			if run != nil {
				take(run)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if unreadable != nil {
		return unreadable
	}
	return nil
}

// setAside is how long a lane with an unreadable head waits.
const setAside = time.Hour

// unreadableError is a message that this version cannot read, such as after a bad upgrade.
type unreadableError struct {
	session string
	seq     int64
	err     error
}

// Error names the message.
func (e *unreadableError) Error() string {
	return fmt.Sprintf("claim: message %d of session %s cannot be read: %v", e.seq, e.session, e.err)
}

func (s *Store) claim(t *engine.Tx, lane domain.Lane, whose domain.Whose) (run *domain.Run, next int64, err error) {
	session, noted, next, err := s.readyLane(t, lane, whose)
	if err != nil || session == "" {
		return nil, next, err
	}
	batch, err := batch(t, session, lane)
	if err != nil {
		return nil, 0, err
	}
	head := &batch[0]
	sent, err := decodeSent(head.sent)
	if err != nil {
		return nil, 0, &unreadableError{session: session, seq: head.seq, err: err}
	}
	if !head.claude.Valid && head.fresh {
		if _, _, err := sessions.BeginClaude(t, session); err != nil {
			return nil, 0, fmt.Errorf("session %s: %w", session, err)
		}
	}
	run = &domain.Run{
		Lane: lane, StartedAt: engine.Moment(t.Now), PreviousAt: engine.Moment(head.previousAt.Int64), Said: head.said,
		Preview: head.preview, Sent: sent,
	}
	if run.Session, err = sessions.Find(t, session); err != nil {
		return nil, 0, fmt.Errorf("session %s: %w", session, err)
	}
	if lane == domain.TurnLane && run.Session.Host != s.self.Name {
		if _, err := t.Exec(`UPDATE sessions SET host = ?2 WHERE key = ?1`, session, s.self.Name); err != nil {
			return nil, 0, err
		}
	}
	if head.claude.Valid && head.claude.String != run.Session.ClaudeSession {
		if err := describe(t, &run.Session, head.claude.String); err != nil {
			return nil, 0, err
		}
	}
	err = t.Row(`INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at)
		VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6) RETURNING id`,
		[]any{session, lane, head.seq, head.channel, head.id, t.Now}, &run.ID)
	if err != nil {
		return nil, 0, err
	}
	if _, err := t.Exec(`UPDATE lanes SET run_id = ?3, ready_at = NULL, held = ?4, host = ?5, placement = ?6 WHERE session = ?1 AND lane = ?2`,
		session, lane, run.ID, len(batch), s.self.ID, s.self.Here()); err != nil {
		return nil, 0, err
	}
	for i := range batch {
		m := &batch[i]
		m.Attempts++
		m.ClaudeSession = run.Session.ClaudeSession
		if err := delivery.Retract(t, m.receipt); err != nil {
			return nil, 0, err
		}
		if _, err := t.Exec(`UPDATE inbox SET attempts = ?4, claude_session = ?5, batch = ?6, receipt = 0, held_until = NULL WHERE session = ?1 AND lane = ?2 AND seq = ?3`,
			session, lane, m.seq, m.Attempts, m.ClaudeSession, head.seq); err != nil {
			return nil, 0, err
		}
		if err := show(t, m.event, m.reacts, domain.StageRunning); err != nil {
			return nil, 0, err
		}
		if i == 0 {
			run.Head = m.Queued
		} else {
			run.More = append(run.More, m.Queued)
		}
	}
	if noted && lane == domain.TurnLane && head.Message.Origin.Awaited() {
		// Claude does not get again what it has already read: notes since then are for the next turn.
		run.Notes, run.Dropped, err = sessions.TakeNotes(t, session, head.Seq, head.ConsumedAt.IsZero())
	}
	return run, 0, err
}

// readyLane finds the lane to claim from: the one that has been ready for the longest, preferring lanes whose heads are
// owners'. Empty: none is ready before next; zero: none at all.
func (s *Store) readyLane(t *engine.Tx, lane domain.Lane, whose domain.Whose) (session string, noted bool, next int64, err error) {
	placements, err := s.self.Placements(t, lane)
	if err != nil {
		return "", false, 0, err
	}
	for _, owner := range []bool{true, false} {
		if !owner && whose == domain.Owners {
			break
		}
		var first int64
		for _, placement := range placements {
			var key string
			var readyAt int64
			var notes bool
			err = t.Row(`SELECT session, ready_at, EXISTS (SELECT 1 FROM notes n WHERE n.session = lanes.session) FROM lanes
				WHERE lane = ?1 AND placement = ?3 AND owner = ?2 AND ready_at IS NOT NULL ORDER BY ready_at LIMIT 1`, []any{lane, owner, placement},
				&key, &readyAt, &notes)
			if err == nil && (first == 0 || readyAt < first) {
				session, first, noted = key, readyAt, notes
			}
			if engine.NoRows(err) != nil {
				return "", false, 0, err
			}
		}
		switch {
		case first == 0:
		case first <= t.Now:
			return session, noted, 0, nil
		case next == 0 || first < next:
			next = first
		}
	}
	return "", false, next, nil
}

// describe makes a session describe another of its claude sessions.
func describe(t *engine.Tx, session *domain.Session, claude string) error {
	session.ClaudeSession, session.Replaced, session.ClaudeStarted, session.ContextTokens = claude, true, false, 0
	session.ForkOf, session.Compactions, session.Flushed = "", 0, 0
	var given string
	err := engine.NoRows(t.Row(`SELECT c.started_at IS NOT NULL, c.compactions, c.flushed, c.given, c.folder, c.worktree, `+sessions.Beginning+
		` FROM claude_sessions c WHERE c.id = ?1`,
		[]any{claude}, &session.ClaudeStarted, &session.Compactions, &session.Flushed, &given, &session.Folder, &session.Worktree, &session.ForkOf, &session.Starter))
	session.Given = sessions.DecodeGiven(given)
	return err
}

// held is a run's place in its lane.
type held struct {
	session string
	lane    domain.Lane
	seq     int64
	held    int64 // messages of the run
	queued  int64 // messages in the lane
	urgent  bool  // some of the waiting ones are urgent
	noted   bool  // the session has notes
}

// Fence returns the session of a run that still has its lane; otherwise the error is [domain.ErrFenced].
func Fence(t *engine.Tx, runID int64) (session string, err error) {
	h, err := fence(t, runID)
	return h.session, err
}

// fence finds a run that still has its lane; otherwise it returns ErrFenced.
func fence(q engine.Querier, runID int64) (held, error) {
	var h held
	err := q.Row(`SELECT l.session, l.lane, r.seq, l.held, l.queued, l.urgent != 0, EXISTS (SELECT 1 FROM notes n WHERE n.session = l.session)
		FROM lanes l JOIN runs r ON r.id = l.run_id WHERE l.run_id = ?1`,
		[]any{runID}, &h.session, &h.lane, &h.seq, &h.held, &h.queued, &h.urgent, &h.noted)
	if errors.Is(err, sql.ErrNoRows) {
		return h, domain.ErrFenced
	}
	return h, err
}

// Consumed records that claude has read a run's message, and so that the claude session has started. The error is
// [domain.ErrFenced] for a run that has lost its lane. A power failure may undo it: claude does not sync its transcript either.
func (s *Store) Consumed(ctx context.Context, runID int64) error {
	return engine.ChangeSoftly(ctx, s.db, "consumed", func(t *engine.Tx) error {
		h, err := fence(t, runID)
		if err != nil {
			return err
		}
		var claude string
		var started bool
		err = t.Row(`UPDATE inbox SET consumed_at = COALESCE(consumed_at, ?4) WHERE session = ?1 AND lane = ?2 AND seq = ?3
			RETURNING claude_session, EXISTS (SELECT 1 FROM claude_sessions c WHERE c.id = claude_session AND c.started_at IS NOT NULL)`,
			[]any{h.session, h.lane, h.seq, t.Now}, &claude, &started)
		if err != nil || started {
			return err
		}
		_, err = t.Exec(`UPDATE claude_sessions SET started_at = ?2 WHERE id = ?1`, claude, t.Now)
		return err
	})
}

// ReplaceSession begins a new claude session for a run's session and binds the run's message to it: after a context
// overflow, or if the transcript is gone. The message then counts as not read, none of its answer as sent, and its
// preview is deleted. The notice, which tells the chat, enters the outbox in the same transaction. It returns the
// updated session, or [domain.ErrFenced].
func (s *Store) ReplaceSession(ctx context.Context, runID int64, notice ...domain.OutboxItem) (domain.Session, error) {
	if err := delivery.Check(notice); err != nil {
		return domain.Session{}, fmt.Errorf("replace session: %w", err)
	}
	return engine.Do(ctx, s.db, "replace session", func(t *engine.Tx) (domain.Session, error) {
		h, err := fence(t, runID)
		if err != nil {
			return domain.Session{}, err
		}
		claude, err := replaceClaude(t, h)
		if err != nil {
			return domain.Session{}, err
		}
		if err := disown(t, h); err != nil {
			return domain.Session{}, err
		}
		if _, err := delivery.Post(t, runID, notice); err != nil {
			return domain.Session{}, err
		}
		session, err := sessions.Find(t, h.session)
		if err == nil && session.ClaudeSession != claude {
			err = describe(t, &session, claude)
		}
		return session, err
	})
}

// replaceClaude binds a run's messages, and those that wait for the same claude session, to a new one. That becomes the
// session's current one if the old one was.
func replaceClaude(t *engine.Tx, h held) (claude string, err error) {
	var old, current, folder string
	var replacedAt sql.NullInt64
	err = t.Row(`SELECT i.claude_session, s.claude_session, c.folder, c.replaced_at FROM inbox i JOIN sessions s ON s.key = i.session
			JOIN claude_sessions c ON c.id = i.claude_session
		WHERE i.session = ?1 AND i.lane = ?2 AND i.seq = ?3`, []any{h.session, h.lane, h.seq}, &old, &current, &folder, &replacedAt)
	if err != nil {
		return "", err
	}
	if old == current {
		_, claude, err = sessions.BeginClaude(t, h.session)
	} else {
		claude, err = sessions.MakeClaude(t, h.session, folder, replacedAt) // one that the session has only left takes the old one's place
		if err == nil {
			_, err = t.Exec(`UPDATE claude_sessions SET replaced_at = ?2 WHERE id = ?1`, old, t.Now)
		}
	}
	if err != nil {
		return "", err
	}
	_, err = t.Exec(`UPDATE inbox SET claude_session = ?4, consumed_at = NULL
		WHERE session = ?1 AND lane = ?2 AND (batch = ?3 OR batch IS NULL AND claude_session = ?5)`, h.session, h.lane, h.seq, claude, old)
	return claude, err
}

// Release ends an unfinished run and returns its message: the lane is ready again at the given time (zero: at once),
// the attempt counts, and the message keeps its claude session. Messages that were joined to the run wait after it,
// unless they were cleared. Cause is for the operator. The error is [domain.ErrFenced] for a run that has lost its
// lane.
func (s *Store) Release(ctx context.Context, runID int64, again time.Time, cause string) error {
	return s.giveBack(ctx, runID, cause, func(*engine.Tx, held) (time.Time, error) { return again, nil })
}

// Hold is Release for a run that could not begin or end for a reason that is not its message's fault: the attempt does not
// count. The hold's notice enters the outbox in the same transaction; it is removed from the chat when the message is
// claimed again, or dropped.
func (s *Store) Hold(ctx context.Context, runID int64, h domain.Hold) error {
	if h.Notice != nil {
		if err := delivery.Check([]domain.OutboxItem{*h.Notice}); err != nil {
			return fmt.Errorf("hold: %w", err)
		}
	}
	return s.giveBack(ctx, runID, h.Cause, func(t *engine.Tx, of held) (time.Time, error) { return hold(t, of, h) })
}

// hold records why and until when a run's message is held, and returns when it is tried again.
func hold(t *engine.Tx, of held, h domain.Hold) (again time.Time, err error) {
	if _, err := t.Exec(`UPDATE inbox SET attempts = attempts - 1 WHERE session = ?1 AND lane = ?2 AND batch = ?3 AND attempts > 0`,
		of.session, of.lane, of.seq); err != nil {
		return time.Time{}, err
	}
	if h.Lift != (domain.Lift{}) {
		if lifted, err := sessions.Lifted(t, h.Lift); err != nil || lifted {
			return time.Time{}, err
		}
	}
	if h.Firm {
		if _, err := t.Exec(`UPDATE inbox SET held_until = ?4, budget = ?5 WHERE session = ?1 AND lane = ?2 AND seq = ?3`,
			of.session, of.lane, of.seq, engine.Millis(h.Until), h.Lift.Budget); err != nil {
			return time.Time{}, err
		}
	}
	if h.Notice == nil {
		return h.Until, nil
	}
	notice := *h.Notice
	notice.Kept = true
	item, err := delivery.Post(t, 0, []domain.OutboxItem{notice})
	if err != nil {
		return time.Time{}, err
	}
	_, err = t.Exec(`UPDATE inbox SET receipt = ?4 WHERE session = ?1 AND lane = ?2 AND seq = ?3`, of.session, of.lane, of.seq, item)
	return h.Until, err
}

// giveBack returns a run to its lane. When returns when it is tried again; zero: at once.
func (s *Store) giveBack(ctx context.Context, runID int64, cause string, when func(t *engine.Tx, of held) (time.Time, error)) error {
	return engine.Change(ctx, s.db, "release", func(t *engine.Tx) error {
		h, err := fence(t, runID)
		if err != nil {
			return err
		}
		again, err := when(t, h)
		if err != nil {
			return err
		}
		if err := part(t, h, runID); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE lanes SET run_id = NULL, held = 0, host = '' WHERE session = ?1 AND lane = ?2`, h.session, h.lane); err != nil {
			return err
		}
		readyAt := t.Now
		if !again.IsZero() {
			readyAt = max(readyAt, engine.Millis(again))
		}
		if err := postpone(t, h.session, h.lane, h.seq, readyAt); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE runs SET state = ?2, ended_at = ?3, error = ?4 WHERE id = ?1`, runID, domain.RunLost,
			t.Now, cause); err != nil {
			return err
		}
		t.Announce(LaneReady(h.lane))
		return nil
	})
}

// postpone makes a lane wait for its head until the given time, whatever else arrives.
func postpone(t *engine.Tx, session string, lane domain.Lane, head, readyAt int64) error {
	if _, err := t.Exec(`UPDATE inbox SET ready_at = ?4 WHERE session = ?1 AND lane = ?2 AND seq = ?3`, session, lane, head,
		readyAt); err != nil {
		return err
	}
	return rearm(t, session, lane)
}

// orphans are the lanes whose runs have lost their host: it has no row, or is gone.
const orphans = `run_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM hosts h WHERE h.id = lanes.host AND h.gone_at IS NULL)`

// Reclaim ends the runs of hosts that are gone, and of the previous process of one that is alone, so that their messages can be claimed
// again. It returns their number.
func Reclaim(t *engine.Tx) (runs int64, err error) {
	if runs, err = t.Exec(`UPDATE runs SET state = ?1, ended_at = ?2, error = 'the host ended while it ran'
		WHERE id IN (SELECT run_id FROM lanes WHERE `+orphans+`)`, domain.RunLost, t.Now); err != nil {
		return 0, err
	}
	if err := partOrphans(t); err != nil {
		return 0, err
	}
	_, err = t.Exec(`UPDATE lanes SET run_id = NULL, held = 0, host = '', ready_at = ?1 WHERE `+orphans, t.Now)
	return runs, err
}

// Settle prepares lanes for a process that is alone: it may claim each of them, and none waits for a clock that was set back while no
// host ran.
func Settle(t *engine.Tx) error {
	if _, err := t.Exec(`UPDATE lanes SET placement = '' WHERE placement != '' AND ready_at IS NOT NULL`); err != nil {
		return err
	}
	for _, query := range []string{
		`UPDATE lanes SET ready_at = ?1 WHERE ready_at > ?1 AND NOT EXISTS
			(SELECT 1 FROM inbox i WHERE i.session = lanes.session AND i.lane = lanes.lane AND i.held_until > ?1)`,
		`UPDATE inbox SET ready_at = ?1 WHERE ready_at > ?1 AND (held_until IS NULL OR held_until <= ?1)`,
	} {
		if _, err := t.Exec(query, t.Now); err != nil {
			return err
		}
	}
	return nil
}
