package permission

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// leastReminded is how long a question must be open for to be worth a reminder.
	leastReminded = 10 * time.Minute
	// lastReminder is after how long at most people are reminded.
	lastReminder = time.Hour
	// justAsked is how long people have before they are reminded.
	justAsked = 5 * time.Minute
)

// remindAt returns when people are reminded of an open question: once half of its time is over. For a short one that is its end.
func remindAt(row domain.Question) time.Time {
	life := row.ExpiresAt.Sub(row.CreatedAt)
	if life < leastReminded {
		return row.ExpiresAt
	}
	return row.CreatedAt.Add(min(life/2, lastReminder))
}

// remind reminds the chats that are asked a question, once, by replies to its messages. It reports whether that needs no further
// attempt.
func (d *Approvals) remind(ctx context.Context, row domain.Question) bool {
	q := read(row)
	text := wording.QuestionReminder(time.Until(row.ExpiresAt).Round(time.Minute), q.body.what())
	var items []domain.OutboxItem
	for _, m := range row.Messages {
		message, _, err := d.options.Store.SentItem(ctx, m.Item)
		switch {
		case errors.Is(err, domain.ErrNotFound), err == nil && time.Since(m.AskedAt) < justAsked: // they have not got it, or only now
			continue
		case err != nil:
			d.log.Warn("nobody is reminded of a question", "question", row.ID, "error", err)
			return false
		}
		kind := q.body.Kind
		if m.Person != "" {
			kind = chat.Direct
		}
		reminder := d.options.Conversations.Notice(m.To, kind, text)
		reminder[0].ReplyTo = message
		items = append(items, reminder...)
	}
	if len(items) == 0 {
		return false
	}
	if _, err := d.options.Store.Post(ctx, domain.KeyReminder.Of(row.ID), items...); err != nil {
		d.log.Warn("nobody is reminded of a question", "question", row.ID, "error", err)
		return false
	}
	return true
}
