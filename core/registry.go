package core

import (
	"context"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// registry builds the commands.
func (h *Host) registry() *command.Registry {
	c := h.config.Claude
	host := command.Host{
		Log: h.log.Named("command"), Recent: h.options.Recent,
		Version: h.options.Version, Started: h.started, Demo: h.options.Demo != "",
		ConfigPath: h.config.Path, ExportDir: filepath.Join(h.config.StateDir, "exports"),
		Models: command.Models{Aliases: c.Aliases, Names: append([]string{c.Model}, c.FallbackModels...)},
		Now:    time.Now, Zone: h.config.Agent.Timezone, Speech: len(h.config.Media.Speak) > 0,
		Conversations: h.conversations, Plugins: h.plugins, Agent: prompted{h.prompter, h.prompts, h.conversations}, Claude: h.claude,
		Tools: h.tools, Project: h.project, Questions: h.questions, Budgets: h.budgets, Bash: h.config.Commands.Bash, Files: h.media.files,
	}
	if h.options.Recheck != nil {
		host.Restart = h.restart
	}
	return command.New(h.store, h.dispatcher, host)
}

// prompted is the agent as the commands use it.
type prompted struct {
	*agent.Prompter
	prompts       *prompt.Builder
	conversations *conversation.Resolver
}

// Sections implements [command.Agent].
func (p prompted) Sections(caller chat.Caller, s domain.Session) []agent.Section {
	return p.prompts.System(p.conversations.Session(caller, s)).Sections
}

// restart shuts the host down for a restart.
type restart struct {
	recheck Recheck
	wanted  chan struct{} // fires once a restart is requested
}

// Request implements [command.Restart].
func (r *restart) Request(ctx context.Context) error {
	if err := r.recheck.Recheck(ctx); err != nil {
		return err
	}
	select {
	case r.wanted <- struct{}{}:
	default: // already requested
	}
	return nil
}
