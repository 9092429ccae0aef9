package core

import (
	"context"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/claude/sessions"
)

// registry builds the commands.
func (h *Host) registry() *command.Registry {
	host := command.Host{
		Log: h.log.Named("command"), Recent: h.options.Recent,
		Version: h.options.Version, Started: h.started, Demo: h.options.Demo != "",
		ConfigPath: h.config.Path, ExportDir: filepath.Join(h.config.StateDir, "exports"),
		Models: config.Derive(h.current, command.ModelsOf),
		Now:    time.Now, Zone: h.config.Agent.Timezone, Speech: len(h.config.Media.Speak) > 0,
		Conversations: h.conversations, Plugins: h.plugins, Health: h.health, Agents: prompt.NewAgents(h.prompters, h.prompts, h.conversations), Claude: h.claude,
		Tools: h.tools, Projects: h.projects, Questions: h.questions, Budgets: h.budgets, Bash: h.config.Commands.Bash, Files: h.media.files, Outgoing: h.media.outgoing, Worktrees: h.worktrees, Sessions: sessions.New(h.claude, h.store),
		Debounce: h.debounce, Jobs: h.jobs,
	}
	if h.options.Source != nil {
		host.Restart, host.Reloader = h.restart, h.reloader
	}
	return command.New(h.store, h.dispatcher, host)
}

// restart shuts the host down for a restart.
type restart struct {
	source Source
	wanted chan struct{} // fires once a restart is requested
}

// Request implements [command.Restart].
func (r *restart) Request(ctx context.Context) error {
	if err := r.source.Recheck(ctx); err != nil {
		return err
	}
	select {
	case r.wanted <- struct{}{}:
	default: // already requested
	}
	return nil
}
