package store

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Lanes returns the lanes with work, running ones first, then in the order in which they become ready; at most 1000.
func (s *Store) Lanes(ctx context.Context) ([]domain.LaneStatus, error) {
	var lanes []domain.LaneStatus
	err := s.db.View(ctx).Each(`SELECT l.session, l.lane, l.queued - l.held, l.running, COALESCE(i.received_at, 0), COALESCE(i.attempts, 0)
		FROM (SELECT session, lane, queued, held, 1 AS running, run_id AS rank FROM lanes WHERE run_id IS NOT NULL
			UNION ALL SELECT session, lane, queued, held, 0, ready_at FROM lanes WHERE ready_at IS NOT NULL) AS l
		LEFT JOIN inbox i ON i.session = l.session AND i.lane = l.lane
			AND i.seq = (SELECT MIN(seq) FROM inbox h WHERE h.session = l.session AND h.lane = l.lane)
		ORDER BY l.running DESC, l.rank, l.session LIMIT ?1 + 0`, []any{engine.MaxRows}, func(rows engine.Rows) error {
		var l domain.LaneStatus
		var since int64
		if err := rows.Scan(&l.Session, &l.Lane, &l.Waiting, &l.Running, &since, &l.Attempts); err != nil {
			return err
		}
		l.Since = engine.Moment(since)
		lanes = append(lanes, l)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lanes: %w", err)
	}
	return lanes, nil
}

// Lane returns since when a run of a session's lane has been running, the zero time if none is, and how many messages wait
// in the lane, without running ones.
func (s *Store) Lane(ctx context.Context, session string, lane domain.Lane) (running time.Time, waiting int, err error) {
	var since int64
	err = s.db.View(ctx).Row(`SELECT queued - held, COALESCE((SELECT started_at FROM runs WHERE id = lanes.run_id), 0)
		FROM lanes WHERE session = ?1 AND lane = ?2`, []any{session, lane}, &waiting, &since)
	if err = engine.NoRows(err); err != nil {
		return running, 0, fmt.Errorf("lane: %w", err)
	}
	if since != 0 {
		running = engine.Moment(since)
	}
	return running, waiting, nil
}

// Destinations returns the destinations with undelivered items, by address; at most 1000. Attempts are the first
// item's, LastError is that of the previous try.
func (s *Store) Destinations(ctx context.Context) ([]domain.DestinationStatus, error) {
	var destinations []domain.DestinationStatus
	err := s.db.View(ctx).Each(`SELECT l.channel, l.chat, l.thread, l.pending, COALESCE(l.next_at, 0), COALESCE(o.attempts, 0), l.last_error
		FROM out_lanes l LEFT JOIN outbox o
			ON o.id = (SELECT MIN(id) FROM outbox h WHERE h.channel = l.channel AND h.chat = l.chat AND h.thread = l.thread)
		ORDER BY l.channel, l.chat, l.thread LIMIT ?1 + 0`, []any{engine.MaxRows}, func(rows engine.Rows) error {
		var d domain.DestinationStatus
		var nextAt int64
		if err := rows.Scan(&d.To.Channel, &d.To.Chat, &d.To.Thread, &d.Pending, &nextAt, &d.Attempts, &d.LastError); err != nil {
			return err
		}
		d.NextAt = engine.Moment(nextAt)
		destinations = append(destinations, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("destinations: %w", err)
	}
	return destinations, nil
}
