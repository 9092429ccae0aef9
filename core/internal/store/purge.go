package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/questions"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// How long things are kept.
const (
	dedupeAge   = 30 * 24 * time.Hour // networks redeliver after a day and more
	dedupeKeys  = 1_000_000
	runAge      = 30 * 24 * time.Hour
	sentAge     = 90 * 24 * time.Hour
	deadAge     = 90 * 24 * time.Hour
	reactionAge = 24 * time.Hour      // of channels that do not run
	spendingAge = 62 * 24 * time.Hour // a month, and some more
	mediaAge    = 30 * 24 * time.Hour

	purgeRows  = 1000 // in one step, so that other steps get their turn
	purgeFiles = 200
)

// Ages are how long the operator keeps things; the zero Ages are the defaults.
type Ages struct {
	Transcripts time.Duration // what was said; zero: for good
	Media       time.Duration // metadata of media, whose files the host deletes at the same age; zero: 30 days; negative: for good
}

// Purge deletes expired rows: dedupe keys after 30 days and, beyond a million, the oldest; expired pairing requests;
// reactions that could not be shown for a day; ended runs, replaced claude sessions, details of tool uses, jobs, metadata of
// what was extracted from media, and latencies, after 30 days; the networks' ids of sent messages, and dead letters, after
// 90; what was said, and metadata of media with contents in the database, by the ages; contents that were not recorded, after a day. Ended conversations of Claude are known for as long as what was said is kept. It is meant to be called every few hours. When the context ends, it stops between two of its small steps.
func (s *Store) Purge(ctx context.Context, ages Ages) error { return s.purge(ctx, ages, dedupeKeys) }

func (s *Store) purge(ctx context.Context, ages Ages, dedupeKeys int) error {
	now, media, said := s.db.Now(), int64(math.MinInt64), int64(math.MinInt64) // which nothing is older than
	if ages.Media >= 0 {
		media = engine.Millis(now.Add(-cmp.Or(ages.Media, mediaAge)))
	}
	if ages.Transcripts > 0 {
		said = engine.Millis(now.Add(-ages.Transcripts))
	}
	// Claude's own transcripts are found by these rows, so that they stay as long.
	ended := said
	if ages.Transcripts > 0 {
		ended = engine.Millis(now.Add(-max(runAge, ages.Transcripts)))
	}
	dedupeLimit := engine.Millis(now.Add(-dedupeAge))
	var overflow int64
	err := s.db.View(ctx).Row(`SELECT seen_at FROM dedupe ORDER BY seen_at DESC LIMIT 1 OFFSET ?1`, []any{dedupeKeys}, &overflow)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("purge: %w", err)
	}
	purges := []struct {
		query  string
		before int64
	}{
		{`DELETE FROM dedupe WHERE (kind, channel, id) IN
			(SELECT kind, channel, id FROM dedupe WHERE seen_at <= ?1 ORDER BY seen_at LIMIT ?2)`, max(dedupeLimit, overflow)},
		{`DELETE FROM pairings WHERE (channel, user_id) IN
			(SELECT channel, user_id FROM pairings WHERE expires_at <= ?1 LIMIT ?2)`, engine.Millis(now)},
		// Runs end roughly in the order of their ids, so the oldest are found without another index.
		{`DELETE FROM runs WHERE ended_at <= ?1 AND id IN (SELECT id FROM runs ORDER BY id LIMIT ?2)`, engine.Millis(now.Add(-runAge))},
		{`DELETE FROM claude_sessions WHERE id IN
			(SELECT id FROM claude_sessions WHERE replaced_at <= ?1
				AND id NOT IN (SELECT claude_session FROM inbox WHERE claude_session IS NOT NULL) LIMIT ?2)`, ended},
		// Entries are written roughly in the order of their ids, as runs end.
		{`DELETE FROM transcript WHERE said_at <= ?1 AND id IN (SELECT id FROM transcript ORDER BY id LIMIT ?2)`, said},
		{`DELETE FROM sent WHERE (channel, chat, message_id) IN
			(SELECT channel, chat, message_id FROM sent WHERE sent_at <= ?1 ORDER BY sent_at LIMIT ?2)`, engine.Millis(now.Add(-sentAge))},
		{`DELETE FROM kept_pieces WHERE piece IN
			(SELECT piece FROM kept_pieces WHERE sent_at <= ?1 ORDER BY sent_at LIMIT ?2)`, engine.Millis(now.Add(-sentAge))},
		{`DELETE FROM agent_messages WHERE (session, number) IN
			(SELECT session, number FROM agent_messages WHERE posted_at <= ?1 ORDER BY posted_at LIMIT ?2)`, engine.Millis(now.Add(-sentAge))},
		{`DELETE FROM shown_messages WHERE (session, message_id) IN
			(SELECT session, message_id FROM shown_messages WHERE shown_at <= ?1 ORDER BY shown_at LIMIT ?2)`, engine.Millis(now.Add(-sentAge))},
		{`DELETE FROM dead_pieces WHERE id IN
			(SELECT id FROM dead_pieces WHERE died_at <= ?1 ORDER BY died_at LIMIT ?2)`, engine.Millis(now.Add(-deadAge))},
		// Grants of an ended conversation no longer apply.
		{`DELETE FROM grants WHERE (session, claude_session, authority, rule) IN
			(SELECT g.session, g.claude_session, g.authority, g.rule FROM grants g LEFT JOIN claude_sessions c ON c.id = g.claude_session
				WHERE g.claude_session != '' AND g.granted_at <= ?1 AND (c.id IS NULL OR c.replaced_at IS NOT NULL) ORDER BY g.granted_at LIMIT ?2)`, engine.Millis(now.Add(-runAge))},
		{`DELETE FROM reactions WHERE (channel, event_id) IN
			(SELECT channel, event_id FROM reactions WHERE changed_at <= ?1 AND stage IN ('done', 'failed', 'dropped') LIMIT ?2)`, engine.Millis(now.Add(-reactionAge))},
		{`DELETE FROM tool_uses WHERE id IN
			(SELECT id FROM tool_uses WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2)`, engine.Millis(now.Add(-runAge))},
		{`DELETE FROM latencies WHERE (hour, kind, bucket) IN
			(SELECT hour, kind, bucket FROM latencies WHERE hour <= ?1 ORDER BY hour LIMIT ?2)`, sessions.HourOf(now.Add(-runAge))},
		{`DELETE FROM spending WHERE (per, subject, period) IN
			(SELECT per, subject, period FROM spending WHERE changed_at <= ?1 ORDER BY changed_at LIMIT ?2)`, engine.Millis(now.Add(-spendingAge))},
		{`DELETE FROM jobs WHERE id IN
			(SELECT id FROM jobs WHERE ended_at <= ?1 ORDER BY ended_at LIMIT ?2)`, engine.Millis(now.Add(-runAge))},
		{`DELETE FROM lifts WHERE (budget, day) IN
			(SELECT budget, day FROM lifts WHERE lifted_at <= ?1 ORDER BY lifted_at LIMIT ?2)`, engine.Millis(now.Add(-spendingAge))},
		{`DELETE FROM extracts WHERE source IN
			(SELECT source FROM extracts WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)`, max(media, engine.Millis(now.Add(-mediaAge)))},
	}
	for _, p := range purges {
		for removed := int64(1); removed > 0; {
			removed, err = engine.Do(ctx, s.db, "purge", func(t *engine.Tx) (int64, error) { return t.Exec(p.query, p.before, purgeRows) })
			if err != nil {
				return err
			}
		}
	}
	for removed := int64(1); removed > 0; {
		removed, err = engine.Do(ctx, s.db, "purge media", func(t *engine.Tx) (int64, error) { return purgeMedia(t, media, purgeFiles) })
		if err != nil {
			return err
		}
	}
	if err := s.sweepContents(ctx); err != nil {
		return err
	}
	for removed := int64(1); removed > 0; {
		removed, err = engine.Do(ctx, s.db, "purge questions", func(t *engine.Tx) (int64, error) {
			return questions.Purge(t, engine.Millis(now.Add(-runAge)), purgeRows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
