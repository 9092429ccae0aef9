package view

import (
	"errors"
	"sync"

	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

// drafts knows where networks refused drafts: a network may accept them from some accounts only. A restart of the
// channel clears it. It is safe for concurrent use.
type drafts struct {
	mu      sync.Mutex
	refused map[place]*plugins.Plugin
}

// place is a channel's chats of a kind.
type place struct {
	channel string
	kind    chat.Kind
}

// taken reports whether drafts are worth trying.
func (d *drafts) taken(live *plugins.Plugin, at place) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused[at] != live
}

// judge returns [stream.ErrRefused] for a permanent failure of a draft, and other errors unchanged. It remembers
// failures that are not specific to one chat.
func (d *drafts) judge(live *plugins.Plugin, at place, err error) error {
	failure, _ := errors.AsType[*chat.Failure](err)
	switch {
	case failure != nil && failure.Reason == chat.Forbidden:
		return stream.ErrRefused
	case errors.Is(err, errors.ErrUnsupported), failure != nil && failure.Reason == chat.Invalid:
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.refused == nil {
			d.refused = map[place]*plugins.Plugin{}
		}
		d.refused[at] = live
		return stream.ErrRefused
	default:
		return err
	}
}
