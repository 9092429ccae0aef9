package queue

import (
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// burst is what a message joins: waiting messages that its sender wrote just before it. The zero burst joins nothing.
type burst struct {
	id       int64 // the number of its first message, which stays when that is withdrawn or moved
	messages int64
	firstAt  int64
}

// openBurst finds the burst that a message joins.
func openBurst(t *engine.Tx, in domain.Inbound, c content, p place) (burst, error) {
	b := in.Burst
	if b.Gap <= 0 || b.By == "" || in.Message.Fresh || p.queued == 1 {
		return burst{}, nil
	}
	var found burst
	var lastAt, bytes int64
	var share, overrides string
	err := t.Row(`SELECT burst, received_at, share, overrides FROM inbox
		WHERE session = ?1 AND lane = 'turn' AND burst_by = ?2 AND batch IS NULL AND joined_run IS NULL ORDER BY seq DESC LIMIT 1`,
		[]any{in.Session, b.By}, &found.id, &lastAt, &share, &overrides)
	if err != nil || lastAt+b.Gap.Milliseconds() <= t.Now || share != c.share || overrides != c.overrides {
		return burst{}, engine.NoRows(err)
	}
	err = t.Row(`SELECT COUNT(*), SUM(size), MIN(received_at) FROM inbox WHERE session = ?1 AND lane = 'turn' AND seq >= ?2 AND burst = ?2`,
		[]any{in.Session, found.id}, &found.messages, &bytes, &found.firstAt)
	switch {
	case err != nil:
		return burst{}, err
	case b.Messages > 0 && found.messages >= int64(b.Messages),
		b.Bytes > 0 && bytes+int64(len(in.Message.Text)) > int64(b.Bytes),
		b.Wait > 0 && found.firstAt+b.Wait.Milliseconds() <= t.Now:
		return burst{}, nil
	}
	return found, nil
}

// extendBurst makes a burst wait for the message that joins it, or end with it.
func extendBurst(t *engine.Tx, in domain.Inbound, p place) error {
	_, err := t.Exec(`UPDATE inbox SET ready_at = ?3, burst_by = ?4 WHERE session = ?1 AND lane = 'turn' AND seq >= ?2 AND burst = ?2`,
		in.Session, p.burst, p.readyAt, joinedBy(in.Burst))
	return err
}

// joinedBy returns who may join the message's burst; "": no one.
func joinedBy(b domain.Burst) string {
	if b.Pause <= 0 || b.Now {
		return ""
	}
	return b.By
}

// readyAt is when the message may be claimed, apart from waiting for others; firstAt is when the first of its burst was
// received.
func readyAt(in domain.Inbound, now, firstAt int64) int64 {
	at := now
	if !in.ReadyAt.IsZero() {
		at = max(at, engine.Millis(in.ReadyAt))
	}
	b := in.Burst
	if joinedBy(b) == "" {
		return at
	}
	end := now + b.Pause.Milliseconds()
	if b.Wait > 0 {
		end = min(end, firstAt+b.Wait.Milliseconds())
	}
	return max(at, end)
}
