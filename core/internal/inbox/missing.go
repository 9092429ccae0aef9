package inbox

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// maxMissing bounds the unavailable files that a session's next turn reads about.
const maxMissing = 20

// miss explains why files are unavailable to a person who sent nothing else. There is nothing to answer: Claude learns
// of it with the next message.
func (in *Inbox) miss(ctx context.Context, a *arrival, reply, event string) (Outcome, error) {
	m := a.message
	outcome, err := in.keep(ctx, a, domain.Passive{
		Note:  &domain.Note{Kind: domain.NoteEvent, At: in.now(), Text: event},
		Limit: maxMissing,
	})
	if err != nil {
		return Outcome{}, err
	}
	_, err = in.store.Post(ctx, "missing:"+m.Channel+":"+string(a.event.ID), domain.OutboxItem{
		To: m.Address(), ReplyTo: m.ID, Text: reply,
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("post a notice of a missing file: %w", err)
	}
	return outcome, nil
}
