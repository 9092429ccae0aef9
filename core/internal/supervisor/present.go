package supervisor

import (
	"context"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// Send sends a message, as far as the channel's limits let it show one.
func (l *Live) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if err := l.checkButtons(out.Buttons); err != nil {
		return chat.Receipt{}, err
	}
	out.Text = l.shown(out.Text)
	return l.Plugin.Send(ctx, out)
}

// Edit changes a message that the channel sent, as Send sends one.
func (l *Live) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	if err := l.checkButtons(buttons); err != nil {
		return err
	}
	return l.Plugin.Edit(ctx, to, id, l.shown(text), buttons)
}

// Draft shows what is about to be sent, as Send sends it.
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

// shown is a text as the channel is given it: plain, if it shows no Markdown in any kind of chat. Plain text is hardly ever
// longer than the Markdown, which was cut to fit; if it is, the Markdown goes.
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

// checkButtons refuses buttons that the channel takes in no kind of chat.
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
