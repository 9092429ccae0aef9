// Package plugins finds the running plugins that a step of a message needs, and checks what they claim to be.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/outbox"
	"github.com/clawhost/clawhost/core/internal/reaction"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Set is the plugins of a config. It asks at each use which of them run.
type Set struct {
	list       []*config.Plugin // in the order of the file
	supervisor *supervisor.Supervisor
}

// New returns the set of a config's plugins, which a supervisor runs.
func New(list []*config.Plugin, s *supervisor.Supervisor) *Set {
	return &Set{list: list, supervisor: s}
}

// Names lists the enabled plugins.
func Names(list []*config.Plugin) []string {
	var names []string
	for _, p := range list {
		if p.Enabled {
			names = append(names, p.Label)
		}
	}
	return names
}

// Enabled reports whether the config has an enabled plugin of that name.
func (s *Set) Enabled(name string) bool { return slices.Contains(Names(s.list), name) }

// ChannelNames lists the enabled plugins that are channels, and those whose kind is not known yet.
func (s *Set) ChannelNames() []string {
	var names []string
	for _, status := range s.supervisor.List() {
		if len(status.Kinds) == 0 || slices.Contains(status.Kinds, "channel") {
			names = append(names, status.Name)
		}
	}
	return names
}

// IsChannel reports whether ChannelNames lists a plugin. Messages cannot be sent to any other one.
func (s *Set) IsChannel(name string) bool { return slices.Contains(s.ChannelNames(), name) }

// Running reports whether a plugin runs.
func (s *Set) Running(name string) bool {
	_, running := s.supervisor.Get(name)
	return running
}

// Restart restarts a plugin, even a failed one.
func (s *Set) Restart(name string) error { return s.supervisor.Restart(name) }

// Changed returns a channel that is closed when a plugin starts or stops running.
func (s *Set) Changed() <-chan struct{} { return s.supervisor.Changed() }

// Grants lists the other channels that a plugin may reach.
func (s *Set) Grants(instance string) []string {
	for _, p := range s.list {
		if p.Label == instance {
			return p.Grants
		}
	}
	return nil
}

// ReadsTranscripts reports whether a plugin follows transcripts, and its block also lets it read what was said before. A
// plugin may ask while it starts: then it waits until the plugin runs.
func (s *Set) ReadsTranscripts(ctx context.Context, instance string) bool {
	if !slices.ContainsFunc(s.list, func(p *config.Plugin) bool { return p.Label == instance && p.ReadTranscripts }) {
		return false
	}
	live, err := s.supervisor.Await(ctx, instance)
	return err == nil && live.Can(remote.TranscriptAppended)
}

// Channels describes the state of each channel.
func (s *Set) Channels() []string {
	var lines []string
	for _, status := range s.supervisor.List() {
		if !slices.Contains(status.Kinds, "channel") && status.State == supervisor.Running {
			continue
		}
		state := string(status.State)
		if status.State == supervisor.Running && status.Connection != 0 {
			state = status.Connection.String()
		}
		lines = append(lines, fmt.Sprintf("%s: %s", status.Name, state))
	}
	return lines
}

// Doing returns what the running plugins say that they are doing, a line for each that says something.
func (s *Set) Doing() []string {
	var lines []string
	for _, status := range s.supervisor.List() {
		if status.State == supervisor.Running && status.Doing != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", status.Name, status.Doing))
		}
	}
	return lines
}

// Commands returns the commands of the running plugins.
func (s *Set) Commands() []command.Command {
	var list []command.Command
	for _, live := range s.supervisor.Running() {
		overrides := s.list[slices.IndexFunc(s.list, func(p *config.Plugin) bool { return p.Label == live.Name })].Overrides
		for _, c := range live.Commands {
			list = append(list, command.Command{
				Name: c.Name, Usage: c.Usage, Summary: c.Summary, MinAuthority: max(c.MinAuthority, chat.Authorised),
				Overrides: slices.Contains(overrides, c.Name),
				Run: func(ctx context.Context, call command.Call) (string, error) {
					return live.RunCommand(ctx, call.Name, call.Args, call.Caller)
				},
			})
		}
	}
	return list
}

// Hooks returns the before_agent_start hooks in the order of the config file. A hook whose plugin is down fails at its
// call, so that the absence of a required one is noticed.
func (s *Set) Hooks() []hook.Hook {
	var list []hook.Hook
	for _, p := range s.list {
		if !p.Enabled {
			continue
		}
		h := hook.Hook{Name: p.Label, Timeout: p.Hook.Timeout, Required: p.Hook.OnError == "fail"}
		live, running := s.supervisor.Get(p.Label)
		switch {
		case running && live.Can(remote.BeforeAgentStart):
			h.Plugin = live
		case running || !h.Required:
			continue
		}
		list = append(list, h)
	}
	return list
}

// Observers returns the plugins that receive each message.
func (s *Set) Observers() []hook.Observer {
	var list []hook.Observer
	for _, live := range s.supervisor.Running() {
		if live.Can(remote.MessageReceived) {
			list = append(list, hook.Observer{Name: live.Name, Plugin: live})
		}
	}
	return list
}

// Followers returns the plugins that receive each entry of a session's history.
func (s *Set) Followers() []hook.Follower {
	var list []hook.Follower
	for _, live := range s.supervisor.Running() {
		if live.Can(remote.TranscriptAppended) {
			list = append(list, hook.Follower{Name: live.Name, Plugin: live})
		}
	}
	return list
}

// Tools returns the enabled plugins, with access to those that run and have tools.
func (s *Set) Tools() []tools.Plugin {
	var list []tools.Plugin
	for _, name := range Names(s.list) {
		p := tools.Plugin{Name: name}
		live, running := s.supervisor.Get(name)
		if running && !live.Can(remote.Tools) {
			continue
		}
		if running {
			p.Live = live.Plugin
		}
		list = append(list, p)
	}
	return list
}

// Await implements [outbox.Networks].
func (s *Set) Await(ctx context.Context, channel string) (outbox.Sender, error) {
	live, err := s.supervisor.Await(ctx, channel)
	switch {
	case err != nil:
		return nil, err
	case !live.Can(remote.Channel):
		return noChannel(channel), nil
	default:
		return live, nil
	}
}

// noChannel is the name of a plugin that is not a channel. What is sent to it fails for good.
type noChannel string

// Send implements [outbox.Sender].
func (n noChannel) Send(context.Context, chat.Outgoing) (chat.Receipt, error) {
	return chat.Receipt{}, &chat.Failure{Reason: chat.Invalid, Err: fmt.Errorf("the plugin %s is not a channel", string(n))}
}

// React implements [reaction.Networks].
func (s *Set) React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	live, ok := s.supervisor.Get(to.Channel)
	if !ok {
		return reaction.ErrNoChannel
	}
	return live.React(ctx, to, id, emoji)
}

// History implements [turn.Past].
func (s *Set) History(ctx context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	live, running := s.supervisor.Get(of.Channel)
	if !running || !live.Can(remote.History) {
		return nil, nil
	}
	return live.History(ctx, of, before, limit)
}

// Members implements [tools.Groups].
func (s *Set) Members(ctx context.Context, of chat.Address, limit int) (chat.Members, error) {
	switch live, running := s.supervisor.Get(of.Channel); {
	case !running:
		return chat.Members{}, &chat.Failure{Reason: chat.NotConnected}
	case !live.Can(remote.Members):
		return chat.Members{}, errors.ErrUnsupported
	default:
		return live.Members(ctx, of, limit)
	}
}

// FetchFile implements [media.Network].
func (s *Set) FetchFile(ctx context.Context, channel string, token chat.FileToken, most int64) (io.ReadCloser, error) {
	switch live, running := s.supervisor.Get(channel); {
	case running:
		return live.FetchFile(ctx, token, most)
	case s.supervisor.Starts(channel):
		return nil, media.ErrAway
	default:
		return nil, &chat.FileError{Problem: "could not be fetched, because its channel is not running"}
	}
}
