package core

import (
	"context"
	"maps"
	"path/filepath"
	"strconv"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/project"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
)

// claudeConfig is the config of the claude processes.
func (h *Host) claudeConfig() claude.Config {
	c := h.config.Claude
	settings := claude.Config{
		Options: cli.Options{
			Command: c.Command, Args: c.Args, Env: environment(c), FallbackModels: c.FallbackModels,
			AllowedTools: c.AllowedTools, DisallowedTools: c.DisallowedTools,
			Workspace: h.config.Agent.Workspace, RunDir: filepath.Join(h.runDir(), "claude"),
			TrustProject: h.config.Agent.TrustProject,
			DenyPaths:    []string{h.config.StateDir, h.config.Path}, Family: h.family, Credentials: h.keys,
		},
		OneShot: c.Mode == "oneshot", MaxProcesses: c.MaxProcesses, Owners: h.owners, MaxMemory: c.MaxMemory, RecycleAt: c.RecycleAt,
		ParkAfter: c.ParkAfter, Timeout: c.Timeout,
	}
	if h.options.Demo != "" {
		settings.Command, settings.Demo = h.options.Demo, true
		settings.Env["CLAUDE_STUB_DEMO"] = "1"
	}
	return settings
}

// newPrompter returns the builder of the system prompts.
func (h *Host) newPrompter() *agent.Prompter {
	a := h.config.Agent
	return agent.NewPrompter(agent.Identity{
		Name: a.Name, Persona: a.SystemPrompt, Owners: h.config.Access.Owners, Workspace: a.Workspace, ContextFiles: a.ContextFiles,
		Timezone: a.Timezone, Aliases: h.config.Claude.Aliases,
	})
}

// equipped runs turns with the tools and the setup that there are when each begins. It completes their profiles.
type equipped struct {
	*claude.Pool
	tools   *tools.Server
	project *project.Folder
	demo    bool
}

// Run implements [turn.Claude].
func (c equipped) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	setup := c.project.Setup(ctx)
	t.Profile.Tools, t.Profile.Setup = c.tools.Fingerprint(ctx), setup
	t.Profile.SystemPrompt += setup.Text()
	result, err := c.Pool.Run(ctx, t)
	if c.demo { // nothing was used, and the usage of the real agent stays separate
		result.InputTokens, result.CacheTokens, result.OutputTokens, result.CostMicros = 0, 0, 0, 0
	}
	crashpoint.Pass("result") // Claude has answered, the answer is not durable yet
	return result, err
}

// environment returns what the config adds to claude's environment.
func environment(c config.Claude) map[string]string {
	all := map[string]string{}
	maps.Copy(all, c.Env)
	if c.ContextBudget > 0 {
		all["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = strconv.Itoa(c.ContextBudget)
	}
	return all
}
