package core

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

type registry struct{ *command.Registry }

func (r registry) Menu() []chat.CommandSpec               { return nil }
func (r registry) Skill(string) (string, bool)            { return "", false }
func (r registry) ResetHint(rest string) (string, string) { return "", rest }
func (r registry) IsAbort(string) bool                    { return false }
func (r registry) Directives(text string) (string, store.Overrides, []store.Command) {
	return text, store.Overrides{}, nil
}

func (h *Host) registry() registry {
	return registry{command.New(command.Builtin(h.store, turnsOf{h}, command.Host{
		Version: h.options.Version, Started: h.started, Demo: h.options.Demo != "",
		Waiting: h.waiting, Channels: h.channelLines,
	}), h.pluginCommands)}
}

// command answers a run's slash command.
func (h *Host) command(ctx context.Context, run *store.Run) (string, error) {
	c := run.Message.Message.Command
	return h.commands.Run(ctx, command.Call{Name: c.Name, Args: c.Args, Caller: turn.Caller(run), Session: run.Session, At: run.Message.ReceivedAt})
}
