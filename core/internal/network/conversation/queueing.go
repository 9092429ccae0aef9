package conversation

import (
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Queueing resolves how a message is queued: by its own directive, the session's choice, or the channel's settings.
func Queueing(c config.Queue, message, session domain.QueueOverrides) domain.Queueing {
	o := domain.Overrides{Queue: message}.Over(domain.Overrides{Queue: session}).Queue
	q := domain.Queueing{Mode: c.Mode, Quiet: c.Debounce, Cap: c.Cap, Drop: c.Drop}
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
