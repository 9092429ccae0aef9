package core

import (
	"path/filepath"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/credential"
	"github.com/clawhost/clawhost/core/internal/claude/project"
)

// claudeConfig is how the claude processes of all agents are run.
func (h *Host) claudeConfig() (claude.Config, error) {
	p := h.config.Processes
	all := claude.Config{
		Agents: map[string]cli.Options{}, DenyPaths: []string{h.config.StateDir, h.config.Path, config.VariablesPath(h.config.Path)}, Family: h.family, Owners: h.owners, Demo: h.options.Demo != "",
		OneShot: p.Mode == "oneshot", MaxProcesses: p.Max, MaxMemory: p.MaxMemory, RecycleAt: p.RecycleAt, ParkAfter: p.ParkAfter, Spare: p.Spare,
	}
	for _, a := range h.config.AllAgents() {
		keys, err := h.keys.Listen(credential.Options{Keys: a.Claude.APIKeys, Upstream: a.Claude.Env["ANTHROPIC_BASE_URL"]}, h.log.Named("keys"))
		if err != nil {
			return all, err
		}
		options := cli.Options{
			Command: a.Claude.Command, Args: a.Claude.Args, Env: a.Claude.Environment(), FallbackModels: a.Claude.FallbackModels,
			AllowedTools: a.Claude.AllowedTools, DisallowedTools: a.Claude.DisallowedTools,
			Workspace: a.Workspace, Worktrees: a.Worktrees(), RunDir: filepath.Join(h.runDir(), "claude", a.Label), TrustProject: a.TrustProject,
			Credentials: keys,
		}
		if all.Demo {
			options.Command, options.Env["CLAUDE_STUB_DEMO"] = h.options.Demo, "1"
		}
		all.Agents[a.Label] = options
	}
	return all, nil
}

// agents constructs what each agent has of its own.
func (h *Host) agents() {
	h.prompters = config.Derive(h.current, agent.PromptersOf)
	h.projects, h.compaction = map[string]*project.Folder{}, map[string]agent.Compaction{}
	for _, a := range h.config.AllAgents() {
		h.compaction[a.Label] = cli.Compaction(a.Claude.Args, a.Claude.Environment())
		h.projects[a.Label] = project.New(project.Options{
			Agent: a, Dir: filepath.Join(h.runDir(), "project", a.Label), Store: h.store, Owners: h.owners,
		}, h.log.Named("project"))
	}
}
