package core

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
)

// claudeConfig is how claude is run.
func (h *Host) claudeConfig() claude.Config {
	c := h.config.Claude
	settings := claude.Config{
		Options: cli.Options{
			Command: c.Command, Args: c.Args, Env: c.Env, FallbackModels: c.FallbackModels,
			AllowedTools: c.AllowedTools, DisallowedTools: c.DisallowedTools,
			Workspace: h.config.Agent.Workspace, RunDir: filepath.Join(h.runDir(), "claude"),
			DenyPaths: []string{h.config.StateDir, h.config.Path}, Children: h.options.Children,
		},
		OneShot: c.Mode == "oneshot", MaxProcesses: c.MaxProcesses, Owners: h.owners, MaxMemory: c.MaxMemory, RecycleAt: c.RecycleAt, ParkAfter: c.ParkAfter, Timeout: c.Timeout,
	}
	if h.keys != nil {
		settings.Credentials = h.keys
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

// prompter writes the system prompts.
func (h *Host) newPrompter() *agent.Prompter {
	a := h.config.Agent
	return agent.NewPrompter(agent.Identity{
		Name: a.Name, Persona: a.SystemPrompt, Owners: h.config.Access.Owners, Workspace: a.Workspace, ContextFiles: a.ContextFiles,
		Timezone: a.Timezone,
	})
}

// run has Claude do a turn.
func (h *Host) run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	t.Profile.Tools = h.tools.Fingerprint(ctx)
	result, err := h.claude.Run(ctx, t)
	if h.options.Demo != "" { // nothing was used, and the real agent's figures stay its own
		result.InputTokens, result.CacheTokens, result.OutputTokens, result.CostMicros = 0, 0, 0, 0
	}
	crashpoint.Pass("result") // Claude has answered, the answer is not durable yet
	return result, err
}

// profile is how claude is run for a turn.
func (h *Host) profile(run *conversation.Turn) agent.Profile {
	prompt := h.systemPrompt(run.Conversation)
	return agent.Profile{
		Model: run.Model, Effort: run.Effort, PermissionMode: run.PermissionMode,
		SystemPrompt: prompt.Text, Skills: prompt.Skills, Private: prompt.Private,
	}
}

// systemPrompt is what the agent is told before all messages of a conversation.
func (h *Host) systemPrompt(c *conversation.Conversation) agent.Prompt {
	prompt := h.prompter.Prompt(agent.Session{
		Channel: c.Caller.Address.Channel, Kind: c.Caller.Kind, Owner: c.Owned,
		Always: c.Activation == "always", MayBeSilent: c.Settings.Reply.Silent == "groups", Model: c.Model,
		Files: len(c.Limits.MediaOut) > 0, Replies: c.Limits.Replies, Speech: c.Speech == "tagged",
	})
	h.complain(prompt.Problems)
	return prompt
}

// complain logs the files that are not shown to the agent, when they are others than before. A missing one is not worth a
// word: not every workspace has all of them.
func (h *Host) complain(problems []error) {
	var texts []string
	for _, why := range problems {
		if !errors.Is(why, fs.ErrNotExist) {
			texts = append(texts, why.Error())
		}
	}
	text := strings.Join(texts, "; ")
	if h.complained.Swap(text) != text && text != "" {
		h.log.Warn("some files are not shown to the agent", "error", text)
	}
}
