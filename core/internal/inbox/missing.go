package inbox

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// maxMissing is how many files that could not be had a session's next turn is told of.
const maxMissing = 20

// miss tells whoever sent nothing but files that cannot be had why. There is nothing in them to be answered: Claude hears of it
// with what is written next.
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
		return Outcome{}, fmt.Errorf("tell of a file that could not be had: %w", err)
	}
	return outcome, nil
}
