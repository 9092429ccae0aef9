package store

import "time"

// longestAlarm is how long the writer waits at most before it looks at the clock again, while something is to come due.
const longestAlarm = time.Minute

// setBack returns what undoes it where the clock was set back since the writer looked at it last; nil: it was not.
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

// setBackBefore does what setBack does for a clock that was set back between the lives: there is an event or a post then that is
// not to come for a while yet.
func (t *tx) setBackBefore() error {
	var last int64
	if err := t.row(`SELECT COALESCE(MAX(seen_at), 0) FROM dedupe`, nil, &last); err != nil || last <= t.now {
		return err
	}
	return t.setBack(t.now, last-t.now)
}

// setBack has what waits for a moment wait as long as it was to before the clock was set back so far: else it would wait until
// the clock comes there again.
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
