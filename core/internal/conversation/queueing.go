package conversation

import (
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/store"
)

// Queueing resolves how a message waits: by its own directive, the session's, the channel's settings.
func Queueing(c config.Queue, message, session store.QueueOverrides) store.Queueing {
	o := store.Overrides{Queue: message}.Over(store.Overrides{Queue: session}).Queue
	q := store.Queueing{Mode: store.Mode(c.Mode), Quiet: c.Debounce, Cap: c.Cap, Drop: store.Drop(c.Drop)}
	if o.Mode != "" {
		q.Mode = o.Mode
	}
	if o.Debounce != nil {
		q.Quiet = *o.Debounce
	}
	if o.Cap > 0 {
		q.Cap = o.Cap
	}
	if o.Drop != "" {
		q.Drop = o.Drop
	}
	return q
}
