package store

import (
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/plugindata"
	"github.com/clawhost/clawhost/core/internal/store/queue"
)

// setBackBefore does what [setBack] does for a clock that was set back while no host ran: then an event or item has a time in the
// future.
func setBackBefore(t *engine.Tx) error {
	var last int64
	if err := t.Row(`SELECT COALESCE(MAX(seen_at), 0) FROM dedupe`, nil, &last); err != nil || last <= t.Now {
		return err
	}
	return setBack(t, last-t.Now)
}

// setBack shortens waiting times by the milliseconds that the clock was set back; otherwise they would last until the clock
// catches up.
func setBack(t *engine.Tx, by int64) error {
	for _, query := range []string{
		`UPDATE lanes SET ready_at = ready_at - ?2 WHERE ready_at > ?1`,
		`UPDATE inbox SET ready_at = ready_at - ?2 WHERE ready_at > ?1`,
		`UPDATE out_lanes SET next_at = next_at - ?2 WHERE next_at > ?1`,
	} {
		if _, err := t.Exec(query, t.Now, by); err != nil {
			return err
		}
	}
	announceAll(t)
	return nil
}

// announceAll announces that anything may have become claimable, or have a new time.
func announceAll(t *engine.Tx) {
	t.Announce(queue.LaneReady(domain.TurnLane), queue.LaneReady(domain.ControlLane), queue.LaneReady(domain.CommandLane), queue.LaneReady(domain.ShellLane),
		delivery.DeliveriesReady, plugindata.WakeUpsSet)
}
