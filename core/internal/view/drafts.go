package view

import (
	"errors"
	"sync"

	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/sdk/chat"
)

// drafts knows where networks refused drafts: a network may take them from some accounts only. It is forgotten when the channel
// is started anew. It is safe for concurrent use.
type drafts struct {
	mu      sync.Mutex
	refused map[place]*supervisor.Live
}

// place is a channel's chats of a kind.
type place struct {
	channel string
	kind    chat.Kind
}

// taken reports whether drafts are worth trying.
func (d *drafts) taken(live *supervisor.Live, at place) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused[at] != live
}

// judge returns [stream.ErrRefused] for a failure of a draft that will not pass, and other errors as they are. It remembers
// the ones that are no matter of a single chat.
func (d *drafts) judge(live *supervisor.Live, at place, err error) error {
	failure, _ := errors.AsType[*chat.Failure](err)
	switch {
	case failure != nil && failure.Reason == chat.Forbidden:
		return stream.ErrRefused
	case errors.Is(err, errors.ErrUnsupported), failure != nil && failure.Reason == chat.Invalid:
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.refused == nil {
			d.refused = map[place]*supervisor.Live{}
		}
		d.refused[at] = live
		return stream.ErrRefused
	default:
		return err
	}
}
