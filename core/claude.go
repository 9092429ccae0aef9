package core

import (
	"maps"
	"path/filepath"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// claudeConfig is how claude is run.
func (h *Host) claudeConfig() claude.Config {
	c := h.config.Claude
	settings := claude.Config{
		Command: c.Command, Args: c.Args, Env: c.Env, FallbackModels: c.FallbackModels,
		AllowedTools: c.AllowedTools, DisallowedTools: c.DisallowedTools,
		Workspace: h.config.Agent.Workspace, RunDir: filepath.Join(h.runDir(), "claude"),
		DenyPaths: []string{h.config.StateDir, h.config.Path}, MaxProcesses: c.MaxProcesses, ParkAfter: c.ParkAfter, Timeout: c.Timeout,
	}
	if h.options.Demo != "" {
		settings.Command, settings.Demo = h.options.Demo, true
		settings.Env = maps.Clone(c.Env)
		if settings.Env == nil {
			settings.Env = map[string]string{}
		}
		settings.Env["CLAUDE_STUB_DEMO"] = "1"
	}
	return settings
}

// profile is how claude is run for a turn that says nothing else.
func (h *Host) profile() agent.Profile {
	c := h.config.Claude
	return agent.Profile{Model: c.Model, Effort: c.Effort, PermissionMode: c.PermissionMode, SystemPrompt: h.systemPrompt()}
}

// systemPrompt is what the agent is told before all messages. A context file that cannot be shown is left out, and said.
func (h *Host) systemPrompt() string {
	a := h.config.Agent
	prompt := agent.NewPrompter(agent.Identity{
		Name: a.Name, Persona: a.SystemPrompt, Workspace: a.Workspace, ContextFiles: a.ContextFiles, Timezone: a.Timezone,
	}).Prompt(agent.Session{})
	for _, why := range prompt.Problems {
		h.log.Warn("a file is not shown to the agent", "error", why)
	}
	return prompt.Text
}
