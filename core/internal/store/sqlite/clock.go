package sqlite

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// longestAlarm bounds how long the writer waits before it reads the clock again, while something will be due.
const longestAlarm = time.Minute

// setBack returns a correction if the clock was set back since the writer read it last; otherwise nil.
func (w *writer) setBack() *operation {
	now := engine.Millis(w.opts.Now())
	back := w.seen - now
	if back <= 0 || w.opts.SetBack == nil {
		w.seen = now
		return nil
	}
	return newOperation(engine.Step{
		Run:       func(t *engine.Tx) error { return w.opts.SetBack(t, back) },
		Committed: func() { w.seen = now },
	})
}
