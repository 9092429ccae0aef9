package posting

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/remote"
)

// capabilities are what a channel needs for each change.
var capabilities = map[tools.Do]remote.Capability{
	tools.Edit:   remote.Edit,
	tools.Delete: remote.Delete,
	tools.React:  remote.React,
}

// Change implements [tools.Outbox].
func (o *posts) Change(ctx context.Context, c tools.Change) error {
	if o.run.Send == "deny" {
		return tools.Refusal(wording.SendingOff)
	}
	if err := o.can(c.Do); err != nil {
		return err
	}
	store, to := o.options.Store, o.run.Caller.Address
	if c.Number == 0 {
		return o.changeByID(ctx, c)
	}
	if c.Do == tools.React {
		m, err := store.AgentMessage(ctx, o.run.Session.Key, c.Number)
		items := append(m.Texts, m.Files...)
		if err == nil && len(items) == 0 {
			err = domain.ErrNotFound
		}
		if err != nil {
			return unknown(c, err)
		}
		return o.react(ctx, c, domain.OutboxItem{To: to, Edits: items[len(items)-1]})
	}
	change := domain.ToolChange{Key: c.Key, Number: c.Number}
	if c.Do == tools.Edit {
		m, err := store.AgentMessage(ctx, o.run.Session.Key, c.Number)
		if err != nil {
			return unknown(c, err)
		}
		rows, labels, err := buttons(o.run.Limits.Buttons, to.Channel, m.Token, c.Buttons)
		if err != nil {
			return err
		}
		change.Texts, change.Labels = o.options.Conversations.Notice(to, o.run.Caller.Kind, c.Text), labels
		change.Texts[len(change.Texts)-1].Buttons = rows
	}
	return unknown(c, store.ChangeByTool(ctx, o.run.ID, change))
}

// changeByID changes a message that the run's conversation has.
func (o *posts) changeByID(ctx context.Context, c tools.Change) error {
	to := o.run.Caller.Address
	item := domain.OutboxItem{To: to, Target: view.Answered(o.run)}
	switch {
	case len(c.Buttons) > 0:
		return tools.NoButtons
	case c.ID != "":
		item.Target = o.view.Message(c.ID)
		if item.Target == "" {
			return tools.NotKnown(c.ID)
		}
	case item.Target == "":
		return tools.NoMessage
	}
	if c.Do == tools.React {
		return o.react(ctx, c, item)
	}
	own, err := o.options.Store.SentBySession(ctx, o.run.Session.Key, to.Channel, to.Chat, item.Target)
	switch {
	case err != nil:
		return err
	case !own:
		return tools.NotSent(c.ID)
	}
	if c.Do == tools.Edit {
		texts := o.options.Conversations.Notice(to, o.run.Caller.Kind, c.Text)
		if len(texts) > 1 {
			return tools.TooLong
		}
		item.Text = texts[0].Text
	}
	_, err = o.options.Store.PostByTool(ctx, o.run.ID, domain.ToolPost{Key: c.Key, Items: []domain.OutboxItem{item}})
	return err
}

// react posts a reaction.
func (o *posts) react(ctx context.Context, c tools.Change, item domain.OutboxItem) error {
	item.React = &c.Emoji
	_, err := o.options.Store.PostByTool(ctx, o.run.ID, domain.ToolPost{Key: c.Key, Items: []domain.OutboxItem{item}})
	return err
}

// unknown returns the error of a change as the model reads it.
func unknown(c tools.Change, err error) error {
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return tools.NotSent(c.ID)
	case errors.Is(err, domain.ErrTooLong):
		return tools.TooLong
	default:
		return err
	}
}

// can returns a [tools.Refusal] if the run's channel is known not to support a change.
func (o *posts) can(do tools.Do) error {
	channel := o.run.Caller.Address.Channel
	live, ok := o.options.Plugins.Get(channel)
	if !ok || live.Can(capabilities[do]) {
		return nil // The outbox waits for a channel that is down.
	}
	var can []tools.Do
	for _, other := range []tools.Do{tools.Edit, tools.Delete, tools.React} {
		if live.Can(capabilities[other]) {
			can = append(can, other)
		}
	}
	return tools.Unsupported(channel, do, can)
}
