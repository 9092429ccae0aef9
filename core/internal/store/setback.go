package store

import "time"

// longestAlarm bounds how long the writer waits before it reads the clock again, while something will be due.
const longestAlarm = time.Minute

// setBack returns a correction if the clock was set back since the writer read it last; otherwise nil.
func (w *writer) setBack() *operation {
	now := millis(w.now())
	back := w.seen - now
	if back <= 0 {
		w.seen = now
		return nil
	}
	return &operation{
		done:      make(chan error, 1),
		run:       func(t *tx) error { return t.setBack(now, back) },
		committed: func() { w.seen = now },
	}
}

// setBackBefore does the same for a clock that was set back while no host ran: then an event or item has a time in the
// future.
func (t *tx) setBackBefore() error {
	var last int64
	if err := t.row(`SELECT COALESCE(MAX(seen_at), 0) FROM dedupe`, nil, &last); err != nil || last <= t.now {
		return err
	}
	return t.setBack(t.now, last-t.now)
}

// setBack shortens waiting times by the time that the clock was set back; otherwise they would last until the clock
// catches up.
func (t *tx) setBack(now, back int64) error {
	for _, query := range []string{
		`UPDATE lanes SET ready_at = ready_at - ?2 WHERE ready_at > ?1`,
		`UPDATE inbox SET ready_at = ready_at - ?2 WHERE ready_at > ?1`,
		`UPDATE out_lanes SET next_at = next_at - ?2 WHERE next_at > ?1`,
	} {
		if _, err := t.exec(query, now, back); err != nil {
			return err
		}
	}
	t.after.all()
	return nil
}
