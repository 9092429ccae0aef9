package supervisor

import (
	"context"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// Send sends a message, adapted to the channel's limits.
func (l *Live) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if err := l.checkButtons(out.Buttons); err != nil {
		return chat.Receipt{}, err
	}
	out.Text = l.shown(out.Text)
	return l.Plugin.Send(ctx, out)
}

// Edit edits a message of the channel, adapted like that of Send.
func (l *Live) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	if err := l.checkButtons(buttons); err != nil {
		return err
	}
	return l.Plugin.Edit(ctx, to, id, l.shown(text), buttons)
}

// Draft shows an answer before it is sent, adapted like that of Send.
func (l *Live) Draft(ctx context.Context, to chat.Address, draftID int64, text string) error {
	return l.Plugin.Draft(ctx, to, draftID, l.shown(text))
}

// Idempotent reports whether the same key sent twice shows one message, in each kind of chat.
func (l *Live) Idempotent() bool {
	for _, limits := range l.limits {
		if !limits.IdempotentSend {
			return false
		}
	}
	return true
}

// shown returns a text for the channel: plain if the channel supports Markdown in no kind of chat. Plain text is rarely
// longer than the Markdown, which fits the limit; if it is, the Markdown is sent.
func (l *Live) shown(text string) string {
	for _, limits := range l.limits {
		if limits.Markup != chat.Plain {
			return text
		}
	}
	plain := markdown.ToText(text, l.limits[chat.Direct].Text)
	for _, limits := range l.limits {
		if !limits.Text.Fits(plain) {
			return text
		}
	}
	return plain
}

// checkButtons returns an error if no kind of chat of the channel accepts the buttons.
func (l *Live) checkButtons(buttons [][]chat.Button) error {
	var wrong error
	for _, limits := range l.limits {
		if wrong = limits.Buttons.Check(buttons); wrong == nil {
			return nil
		}
	}
	if wrong == nil {
		return nil
	}
	return &chat.Failure{Reason: chat.Invalid, Err: wrong}
}
