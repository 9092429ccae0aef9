package outbox

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/upload"
)

// optional reports whether the change may be dropped silently.
func optional(p domain.OutboxItem) bool { return p.Changes() && !p.OrSend }

// transmit sends an item, or edits, deletes, pins or reacts to the message that it refers to. It returns the messages that show
// it now. If an edit is not possible, the old message is left unchanged, or a new message replaces it and the old one is
// deleted if possible.
func (c *channel) transmit(work context.Context, plugin *plugins.Plugin, d domain.Delivery) ([]chat.MessageID, error) {
	if !d.Item.Changes() {
		return c.send(work, plugin, d, d.Uncertain)
	}
	err := within(work, nil, func(ctx context.Context) error { return c.change(ctx, plugin, d) })
	if err == nil {
		if removes(d.Item) || d.Item.React != nil || d.Item.Pin != nil || d.Item.Target != "" {
			return nil, nil
		}
		return []chat.MessageID{d.Target}, nil
	}
	if failure := failureOf(err); d.Item.Pin == nil && !errors.Is(err, errors.ErrUnsupported) && c.again(d, failure) {
		return nil, err
	}
	c.log.Debug("a message was not changed", "item", d.ID, "chat", d.Item.To.Chat, "sent_instead", d.Item.OrSend, "error", err)
	if optional(d.Item) {
		return nil, nil
	}
	removed := false
	if d.Target != "" { // Networks report some messages as gone that merely cannot be edited.
		err := within(work, nil, func(ctx context.Context) error { return plugin.Delete(ctx, d.Item.To, d.Target) })
		if err != nil {
			c.log.Debug("the replaced message was not deleted", "item", d.ID, "chat", d.Item.To.Chat, "error", err)
		}
		removed = err == nil
	}
	// Only an earlier try that sent it as a new message may have shown it elsewhere, and that would have deleted the old one.
	return c.send(work, plugin, d, d.Uncertain && !removed)
}

// within bounds a network call that transfers files.
func within(work context.Context, files []chat.Media, call func(context.Context) error) error {
	timeout := sendTimeout
	for _, file := range files {
		timeout += upload.Time(file.Size)
	}
	ctx, cancel := context.WithTimeout(work, timeout)
	defer cancel()
	return call(ctx)
}

// removes reports whether an item deletes the message that it refers to.
func removes(p domain.OutboxItem) bool { return !p.HasContent() && p.React == nil && p.Pin == nil }

// change edits, deletes, pins or reacts to the message that an item refers to.
func (c *channel) change(ctx context.Context, plugin *plugins.Plugin, d domain.Delivery) error {
	switch {
	case d.Target == "":
		return &chat.Failure{Reason: chat.TargetGone}
	case d.Item.React != nil:
		return plugin.React(ctx, d.Item.To, d.Target, *d.Item.React)
	case d.Item.Pin != nil:
		return pin(ctx, plugin, d)
	case removes(d.Item):
		return deleteAll(ctx, plugin, d)
	// No network adds a file to a text message.
	case len(d.Item.Media) == 0 && c.outbox.options.Conversations.Editable(c.name, d.TargetSentAt):
		shown := chat.Outgoing{Text: d.Item.Text}
		if d.TargetRepeated {
			shown = c.marked(plugin, shown)
		}
		err := plugin.Edit(ctx, d.Item.To, d.Target, shown.Text, d.Item.Buttons)
		crashpoint.Pass("edited") // The network may show the edit, the store does not know it yet.
		return err
	default:
		return errors.ErrUnsupported
	}
}

// pinTimeout bounds the pinning of a message, because what follows it in the chat waits.
const pinTimeout = 5 * time.Second

// pin pins the message that an item refers to, or unpins it.
func pin(ctx context.Context, plugin *plugins.Plugin, d domain.Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, pinTimeout)
	defer cancel()
	return plugin.Pin(ctx, d.Item.To, d.Target, *d.Item.Pin)
}

// deleteAll deletes the messages that an item has become. One that is gone is deleted.
func deleteAll(ctx context.Context, plugin *plugins.Plugin, d domain.Delivery) error {
	for _, id := range d.More {
		if err := plugin.Delete(ctx, d.Item.To, id); err != nil && failureOf(err).Reason != chat.TargetGone {
			return err
		}
	}
	return plugin.Delete(ctx, d.Item.To, d.Target)
}

// send sends an item as a new message. If the network refuses the reply or the files, it is sent without them. Repeated says
// that the chat may have it already.
func (c *channel) send(work context.Context, plugin *plugins.Plugin, d domain.Delivery, repeated bool) ([]chat.MessageID, error) {
	p := d.Item
	out := chat.Outgoing{
		Key: d.Key, To: p.To, Text: p.Text, Media: p.Media, ReplyTo: p.ReplyTo, Buttons: p.Buttons,
		Silent: p.Silent, Poll: p.Poll, Agent: p.Agent,
	}
	if repeated {
		out = c.marked(plugin, out)
	}
	text := out.Text
	receipt, err := sendOne(work, plugin, out)
	if p.ReplyTo != "" && err != nil && refusesReply(failureOf(err)) {
		c.log.Debug("a reply was refused", "item", d.ID, "chat", p.To.Chat, "error", err)
		out.ReplyTo = ""
		receipt, err = sendOne(work, plugin, out)
	}
	if len(p.Media) > 0 && err != nil && failureOf(err).Reason == chat.MediaRejected {
		c.log.Warn("files were refused", "item", d.ID, "chat", p.To.Chat, "files", len(p.Media), "error", err)
		out.Media, out.Text = nil, without(text, p.Media)
		receipt, err = sendOne(work, plugin, out)
		if text != "" && err != nil && failureOf(err).Reason == chat.TooLong {
			out.Text = text
			receipt, err = sendOne(work, plugin, out)
		}
	}
	return receipt.IDs, err
}

// refusesReply reports whether the failure may be due to the message replied to, such as one that is gone.
func refusesReply(f *chat.Failure) bool {
	return !f.MaybeDelivered && (f.Reason == chat.Invalid || f.Reason == chat.TargetGone)
}

func sendOne(work context.Context, plugin *plugins.Plugin, out chat.Outgoing) (receipt chat.Receipt, err error) {
	err = within(work, out.Media, func(ctx context.Context) error {
		receipt, err = plugin.Send(ctx, out)
		crashpoint.Pass("sent") // The network may have the message, the store does not know it yet.
		return err
	})
	return receipt, err
}

// without returns a text with a line that names the missing files.
func without(text string, files []chat.Media) string {
	names := make([]string, 0, len(files))
	for _, m := range files {
		names = append(names, named(m))
	}
	line := wording.FilesLacking(names)
	if text == "" {
		return line
	}
	return text + "\n\n" + line
}

// named returns a file's name for people, which is not trusted, or else its kind.
func named(m chat.Media) string {
	const most = 80 // characters
	name := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '`' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, m.FileName)))
	switch {
	case len(name) == 0:
		return m.Kind.String()
	case len(name) > most:
		name = append(name[:most-1], '…')
	}
	return "`" + string(name) + "`"
}
