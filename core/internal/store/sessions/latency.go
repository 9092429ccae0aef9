package sessions

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// kinds of latencies.
const (
	firstWordLatency = "first_word"
	answerLatency    = "answer"
)

// bucketsPerDoubling is how many buckets of latencies there are until twice the time: a bucket stands for times that differ from it
// by less than 5 percent.
const bucketsPerDoubling = 8

func bucketOf(d time.Duration) int64 {
	return int64(math.Round(bucketsPerDoubling * math.Log2(float64(max(d.Milliseconds(), 1)))))
}

func latencyOf(bucket int64) time.Duration {
	return time.Duration(math.Exp2(float64(bucket)/bucketsPerDoubling) * float64(time.Millisecond))
}

// AddLatency counts how long a person has waited for an answer whose message was received at a time, in milliseconds.
func AddLatency(t *engine.Tx, receivedAt int64, firstWord time.Duration) error {
	waits := map[string]time.Duration{answerLatency: engine.Moment(t.Now).Sub(engine.Moment(receivedAt))}
	if firstWord > 0 {
		waits[firstWordLatency] = firstWord
	}
	for kind, wait := range waits {
		_, err := t.Exec(`INSERT INTO latencies (hour, kind, bucket, turns) VALUES (?1, ?2, ?3, 1)
			ON CONFLICT (hour, kind, bucket) DO UPDATE SET turns = latencies.turns + 1`, HourOf(engine.Moment(t.Now)), kind, bucketOf(wait))
		if err != nil {
			return err
		}
	}
	return nil
}

// HourOf returns the number of the hour of a time, which latencies are counted by.
func HourOf(at time.Time) int64 { return at.Unix() / int64(time.Hour/time.Second) }

// LatencyByHour returns how long people have waited for the turns that ended from a time on, for each hour with turns, in order. It
// is read from a histogram: its cost grows with the hours, not with the turns.
func (s *Store) LatencyByHour(ctx context.Context, from time.Time) ([]domain.HourLatency, error) {
	var hours []domain.HourLatency
	waits := map[string]*waits{firstWordLatency: {}, answerLatency: {}}
	last := int64(-1)
	end := func() {
		if last >= 0 {
			at := time.Unix(last*int64(time.Hour/time.Second), 0).UTC()
			hours = append(hours, domain.HourLatency{At: at, FirstWord: waits[firstWordLatency].spread(), Answer: waits[answerLatency].spread()})
		}
	}
	err := s.db.View(ctx).Each(`SELECT hour, kind, bucket, turns FROM latencies WHERE hour >= ?1 ORDER BY hour, kind, bucket`, []any{HourOf(from)}, func(rows engine.Rows) error {
		var hour, bucket, turns int64
		var kind string
		if err := rows.Scan(&hour, &kind, &bucket, &turns); err != nil {
			return err
		}
		if hour != last {
			end()
			last = hour
			for _, w := range waits {
				*w = nil
			}
		}
		if w := waits[kind]; w != nil {
			*w = append(*w, waited{bucket, turns})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("latency by hour: %w", err)
	}
	end()
	return hours, nil
}

// waits are the buckets of one kind of an hour, in order.
type waits []waited

type waited struct{ bucket, turns int64 }

func (w *waits) spread() domain.Spread {
	s := domain.Spread{}
	for _, c := range *w {
		s.Count += c.turns
	}
	s.Median, s.P95 = w.quantile(s.Count, 50), w.quantile(s.Count, 95)
	return s
}

// quantile is what so many percent of count waits do not exceed.
func (w *waits) quantile(count, percent int64) time.Duration {
	seen := int64(0)
	for _, c := range *w {
		if seen += c.turns; seen*100 >= count*percent {
			return latencyOf(c.bucket)
		}
	}
	return 0
}
