package view

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// capabilities are what a channel needs for each change.
var capabilities = map[tools.Do]remote.Capability{
	tools.Edit:   remote.Edit,
	tools.Delete: remote.Delete,
	tools.React:  remote.React,
}

// Change implements [tools.Outbox].
func (v *view) Change(ctx context.Context, c tools.Change) error {
	if v.run.Send == "deny" {
		return tools.Refusal(wording.SendingOff)
	}
	if err := v.can(c.Do); err != nil {
		return err
	}
	store, to := v.views.options.Store, v.run.Caller.Address
	if c.Number == 0 {
		return v.changeByID(ctx, c)
	}
	if c.Do == tools.React {
		m, err := store.AgentMessage(ctx, v.run.Session.Key, c.Number)
		items := append(m.Texts, m.Files...)
		if err == nil && len(items) == 0 {
			err = domain.ErrNotFound
		}
		if err != nil {
			return unknown(c, err)
		}
		return v.react(ctx, c, domain.OutboxItem{To: to, Edits: items[len(items)-1]})
	}
	change := domain.ToolChange{Key: c.Key, Number: c.Number}
	if c.Do == tools.Edit {
		m, err := store.AgentMessage(ctx, v.run.Session.Key, c.Number)
		if err != nil {
			return unknown(c, err)
		}
		rows, labels, err := buttons(v.run.Limits.Buttons, to.Channel, m.Token, c.Buttons)
		if err != nil {
			return err
		}
		change.Texts, change.Labels = v.views.options.Conversations.Notice(to, v.run.Caller.Kind, c.Text), labels
		change.Texts[len(change.Texts)-1].Buttons = rows
	}
	return unknown(c, store.ChangeByTool(ctx, v.run.ID, change))
}

// changeByID changes a message that the run's conversation has.
func (v *view) changeByID(ctx context.Context, c tools.Change) error {
	to := v.run.Caller.Address
	item := domain.OutboxItem{To: to, Target: answered(v.run)}
	switch {
	case len(c.Buttons) > 0:
		return tools.NoButtons
	case c.ID != "":
		item.Target = v.known.Message(c.ID)
		if item.Target == "" {
			return tools.NotKnown(c.ID)
		}
	case item.Target == "":
		return tools.NoMessage
	}
	if c.Do == tools.React {
		return v.react(ctx, c, item)
	}
	own, err := v.views.options.Store.SentBySession(ctx, v.run.Session.Key, to.Channel, to.Chat, item.Target)
	switch {
	case err != nil:
		return err
	case !own:
		return tools.NotSent(c.ID)
	}
	if c.Do == tools.Edit {
		texts := v.views.options.Conversations.Notice(to, v.run.Caller.Kind, c.Text)
		if len(texts) > 1 {
			return tools.TooLong
		}
		item.Text = texts[0].Text
	}
	_, err = v.views.options.Store.PostByTool(ctx, v.run.ID, domain.ToolPost{Key: c.Key, Items: []domain.OutboxItem{item}})
	return err
}

// react posts a reaction.
func (v *view) react(ctx context.Context, c tools.Change, item domain.OutboxItem) error {
	item.React = &c.Emoji
	_, err := v.views.options.Store.PostByTool(ctx, v.run.ID, domain.ToolPost{Key: c.Key, Items: []domain.OutboxItem{item}})
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
func (v *view) can(do tools.Do) error {
	channel := v.run.Caller.Address.Channel
	live, ok := v.views.options.Plugins.Get(channel)
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
