package store

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// Backlog sums up what is not done yet.
func (s *Store) Backlog(ctx context.Context) (domain.Backlog, error) {
	b := domain.Backlog{Lanes: map[domain.Lane]domain.LaneBacklog{}, Outbox: map[string]domain.OutboxBacklog{}}
	v := s.db.View(ctx)
	err := v.Each(`SELECT lane, SUM(waiting), SUM(running), COALESCE(MIN(oldest), 0)
		FROM (SELECT l.lane, l.queued - l.held AS waiting, CASE WHEN l.run_id IS NULL THEN 0 ELSE 1 END AS running,
				(SELECT MIN(i.received_at) FROM inbox i WHERE i.session = l.session AND i.lane = l.lane
					AND (l.run_id IS NULL OR i.batch IS NULL AND i.joined_run IS NULL)) AS oldest
			FROM (SELECT session, lane, queued, held, run_id FROM lanes WHERE run_id IS NOT NULL
				UNION ALL SELECT session, lane, queued, held, run_id FROM lanes WHERE ready_at IS NOT NULL) AS l) AS w
		GROUP BY lane`, nil, func(rows engine.Rows) error {
		var lane domain.Lane
		var l domain.LaneBacklog
		var oldest int64
		if err := rows.Scan(&lane, &l.Waiting, &l.Running, &oldest); err != nil {
			return err
		}
		l.Oldest = engine.Moment(oldest)
		b.Lanes[lane] = l
		return nil
	})
	if err != nil {
		return b, fmt.Errorf("backlog: %w", err)
	}
	err = v.Each(`SELECT channel, SUM(pending), COALESCE(MIN(oldest), 0), SUM(dead)
		FROM (SELECT channel, COUNT(*) AS pending, MIN(created_at) AS oldest, 0 AS dead FROM outbox GROUP BY channel
			UNION ALL SELECT channel, 0, NULL, COUNT(*) FROM dead_pieces GROUP BY channel) AS items
		GROUP BY channel`, nil, func(rows engine.Rows) error {
		var channel string
		var o domain.OutboxBacklog
		var oldest int64
		if err := rows.Scan(&channel, &o.Pending, &oldest, &o.Dead); err != nil {
			return err
		}
		o.Oldest = engine.Moment(oldest)
		b.Outbox[channel] = o
		return nil
	})
	if err != nil {
		return b, fmt.Errorf("backlog: %w", err)
	}
	b.Uncertain, err = s.Uncertain(ctx)
	return b, err
}
