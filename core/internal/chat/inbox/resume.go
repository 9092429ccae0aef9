package inbox

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The conversations that are likely to go on after a restart of the host.
const (
	recent     = 10 * time.Minute // since their last turn began
	mostRecent = 16
)

// Resume expects the next turns of conversations that were in use when the previous process ended, so that people find them as they left
// them. The host calls it once, at its start.
func (in *Inbox) Resume(ctx context.Context) {
	sessions, err := in.store.Recent(ctx, in.now().Add(-recent), mostRecent)
	if err != nil {
		in.log.Warn("claude is not started for the conversations of the previous process", "error", err)
		return
	}
	for _, s := range sessions {
		if err := in.resumed(ctx, s); err != nil {
			in.log.Debug("claude is not started for a conversation of the previous process", "session", s.Key, "error", err)
		}
	}
}

// resumed expects the next turn of a conversation, if it would be let in now: in a group, that of anybody who mentions the agent.
func (in *Inbox) resumed(ctx context.Context, s domain.Session) error {
	if s.Route.Channel == "" {
		return nil // of a program
	}
	e := chat.Event{
		Chat: chat.Chat{ID: s.Route.Chat, Kind: s.Kind, Title: s.Title}, Thread: s.Route.Thread, Body: chat.Message{MentionsSelf: true},
	}
	if len(s.Peer) > 0 {
		e.Sender = chat.Sender{ID: s.Peer[0], Aliases: s.Peer[1:]}
	}
	a, err := in.writing(ctx, s.Route.Channel, e)
	if err != nil || a == nil || a.key != s.Key {
		return err
	}
	return in.expect(ctx, *a)
}
