package core

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// registry builds the commands.
func (h *Host) registry() *command.Registry {
	c := h.config.Claude
	return command.New(h.store, h.dispatcher, command.Host{
		Log:     h.log.Named("command"),
		Version: h.options.Version, Started: h.started, Demo: h.options.Demo != "",
		ConfigPath: h.config.Path, ExportDir: filepath.Join(h.config.StateDir, "exports"),
		Models: command.Models{Aliases: c.Aliases, Names: append([]string{c.Model}, c.FallbackModels...)},
		Now:    time.Now, Zone: h.config.Agent.Timezone,
		Waiting: h.waiting, Channels: h.channelLines, HasChannel: func(name string) bool { return slices.Contains(h.pluginNames(), name) },
		Configured: h.configured, Conversations: h.conversations, Prompt: h.promptSections, Pool: h.poolLine, Welcome: welcome,
		Speech: len(h.config.Media.Speak) > 0, Aside: h.aside, Questions: questionsOf{h}, Restart: h.restarts(), Plugins: h.pluginCommands, Skills: h.prompter.SkillList,
	})
}

// restarts has the host go down to be run anew; nil where it cannot be.
func (h *Host) restarts() func(context.Context) error {
	if h.options.Recheck == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if err := h.options.Recheck(ctx); err != nil {
			return err
		}
		select {
		case h.restart <- struct{}{}:
		default: // it is on its way
		}
		return nil
	}
}

// command answers a run's slash commands.
func (h *Host) command(ctx context.Context, run *conversation.Turn) (string, error) {
	c := run.Message.Message.Command
	if c.Plain {
		return h.hear(ctx, run)
	}
	return h.commands.Run(ctx, command.Call{
		Name: c.Name, Args: c.Args, And: c.And, Caller: run.Caller, Session: run.Session, At: run.Message.ReceivedAt,
	})
}

// promptSections are those of a session's system prompt.
func (h *Host) promptSections(caller chat.Caller, s domain.Session) []agent.Section {
	return h.systemPrompt(h.conversations.Session(caller, s)).Sections
}

// poolLine says how many claude processes there are, and what they hold.
func (h *Host) poolLine() string {
	stats := h.claude.Stats()
	line := fmt.Sprintf("%d running, %d idle, %d turns wait for one", stats.Running, stats.Idle, stats.Waiting)
	if stats.Memory > 0 {
		line += fmt.Sprintf("; %d MiB", stats.Memory>>20)
	}
	if stats.Memory > 0 && stats.Limit > 0 {
		line += fmt.Sprintf(" of %d MiB", stats.Limit>>20)
	}
	return line
}

// configured are the people that the config lets in on a channel.
func (h *Host) configured(channel string) []string {
	access := h.config.For(channel).Access
	list := slices.Concat(access.Owners, access.Allow)
	list = slices.DeleteFunc(list, func(person string) bool { return !strings.HasPrefix(person, channel+":") })
	slices.Sort(list)
	return slices.Compact(list)
}
