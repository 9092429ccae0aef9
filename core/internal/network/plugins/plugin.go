package plugins

import (
	"context"
	"fmt"
	"slices"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// Plugin is a running plugin: one process of it.
type Plugin struct {
	Name string
	// Host is the host that runs it, if it is another one; empty: this one.
	Host string
	*remote.Plugin
	remote.Description
	// Reported are the limits of a channel in each kind of chat.
	Reported map[chat.Kind]chat.Limits
}

// Open returns a configured plugin as it runs on a host, which is empty for this one, with the limits of a channel, which are constant for the
// process.
func Open(ctx context.Context, name, host string, p *remote.Plugin, d remote.Description) (*Plugin, error) {
	opened := &Plugin{Name: name, Host: host, Plugin: p, Description: d, Reported: map[chat.Kind]chat.Limits{}}
	if !d.Can(remote.Channel) {
		return opened, nil
	}
	for _, kind := range []chat.Kind{chat.Direct, chat.Group, chat.Broadcast} {
		limits, err := p.Limits(ctx, d, kind)
		if err != nil {
			return nil, err
		}
		opened.Reported[kind] = limits
	}
	return opened, nil
}

// Kinds returns the kinds of a plugin's capabilities.
func Kinds(d remote.Description) []string {
	var kinds []string
	for _, k := range []struct {
		capability remote.Capability
		name       string
	}{
		{remote.Channel, "channel"},
		{remote.Commands, "commands"},
		{remote.Tools, "tools"},
		{remote.BeforeAgentStart, "hook"},
		{remote.MessageReceived, "hook"},
		{remote.TranscriptAppended, "hook"},
		{remote.CLI, "cli"},
		{remote.HTTP, "http"},
	} {
		if d.Can(k.capability) && !slices.Contains(kinds, k.name) {
			kinds = append(kinds, k.name)
		}
	}
	if kinds == nil {
		kinds = []string{"service"}
	}
	return kinds
}

// Send sends a message, adapted to the channel's limits. What is sent to a plugin that is no channel fails for good.
func (p *Plugin) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if !p.Can(remote.Channel) {
		return chat.Receipt{}, &chat.Failure{Reason: chat.Invalid, Err: fmt.Errorf("the plugin %s is not a channel", p.Name)}
	}
	if err := p.checkButtons(out.Buttons); err != nil {
		return chat.Receipt{}, err
	}
	out.Text = p.shown(out.Text)
	return p.Plugin.Send(ctx, out)
}

// Edit edits a message of the channel, adapted like that of Send.
func (p *Plugin) Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	if err := p.checkButtons(buttons); err != nil {
		return err
	}
	return p.Plugin.Edit(ctx, to, id, p.shown(text), buttons)
}

// Draft shows an answer before it is sent, adapted like that of Send.
func (p *Plugin) Draft(ctx context.Context, to chat.Address, draftID int64, text string) error {
	return p.Plugin.Draft(ctx, to, draftID, p.shown(text))
}

// Idempotent reports whether the same key sent twice shows one message, in each kind of chat.
func (p *Plugin) Idempotent() bool {
	if len(p.Reported) == 0 {
		return false
	}
	for _, limits := range p.Reported {
		if !limits.IdempotentSend {
			return false
		}
	}
	return true
}

// Fits reports whether a message has no text, and no poll, that is too long for a kind of chat.
func (p *Plugin) Fits(out chat.Outgoing) bool {
	for _, limits := range p.Reported {
		if out.Poll == nil && !limits.Text.Fits(out.Text) || out.Poll != nil && limits.Polls.Options > 0 && !limits.Polls.Question.Fits(out.Poll.Question) {
			return false
		}
	}
	return true
}

// shown returns a text for the channel: plain if the channel supports Markdown in no kind of chat. Plain text is rarely
// longer than the Markdown, which fits the limit; if it is, the Markdown is sent.
func (p *Plugin) shown(text string) string {
	for _, limits := range p.Reported {
		if limits.Markup != chat.Plain {
			return text
		}
	}
	plain := markdown.ToText(text, p.Reported[chat.Direct].Text)
	for _, limits := range p.Reported {
		if !limits.Text.Fits(plain) {
			return text
		}
	}
	return plain
}

// checkButtons returns an error if no kind of chat of the channel accepts the buttons.
func (p *Plugin) checkButtons(buttons [][]chat.Button) error {
	var wrong error
	for _, limits := range p.Reported {
		if wrong = limits.Buttons.Check(buttons); wrong == nil {
			return nil
		}
	}
	if wrong == nil {
		return nil
	}
	return &chat.Failure{Reason: chat.Invalid, Err: wrong}
}
