package core

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// claudeConfig is how claude is run.
func (h *Host) claudeConfig() claude.Config {
	c := h.config.Claude
	settings := claude.Config{
		Command: c.Command, Args: c.Args, Env: c.Env, FallbackModels: c.FallbackModels,
		AllowedTools: c.AllowedTools, DisallowedTools: c.DisallowedTools,
		Workspace: h.config.Agent.Workspace, RunDir: filepath.Join(h.runDir(), "claude"),
		DenyPaths: []string{h.config.StateDir, h.config.Path}, OneShot: c.Mode == "oneshot", MaxProcesses: c.MaxProcesses,
		Owners: owners{h}, Children: h.options.Children, MaxMemory: c.MaxMemory, RecycleAt: c.RecycleAt, ParkAfter: c.ParkAfter, Timeout: c.Timeout,
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
	h.points.pass("result") // Claude has answered, the answer is not durable yet
	return result, err
}

// aside has claude answer a question beside the session's turn. What of the answer is meant for the host is left out.
func (h *Host) aside(ctx context.Context, s store.Session, question string) (string, error) {
	written, err := h.claude.Aside(ctx, s.ClaudeSession, question)
	if errors.Is(err, claude.ErrNotRunning) {
		return "", command.ErrNothingRuns
	}
	if errors.Is(err, claude.ErrNoAside) {
		return "This version of Claude Code takes no question beside what is running.", nil
	}
	return answer.Parse(written, true).Text, err
}

// profile is how claude is run for a turn: as the message's directives say, else the session, else the config. A
// permission mode that an owner has chosen holds for owners' messages only.
func (h *Host) profile(run *store.Run) agent.Profile {
	m, speaker := run.Message.Message, h.speaker(run)
	profile := agent.Profile{Model: speaker.Model, Effort: speaker.Effort, PermissionMode: h.permissionMode(run)}
	prompt := h.systemPrompt(m, run.Session, profile.Model)
	profile.SystemPrompt, profile.Skills, profile.Private = prompt.Text, prompt.Skills, prompt.Private
	return profile
}

// permissionMode is what the agent may do in a run's turn without asking.
func (h *Host) permissionMode(run *store.Run) string {
	m := run.Message.Message
	if chosen := m.Overrides.Over(run.Session.Overrides).Permission; chosen != "" && h.owned(m) {
		return chosen
	}
	return h.config.Claude.PermissionMode
}

// owned reports whether an owner is behind a message. The turns of plugins and the heartbeat have an owner's authority in
// whoever's chat they are: they count as the person's whose direct chat it is.
func (h *Host) owned(m store.Message) bool {
	if m.Authority != chat.Owner || m.Origin != store.OriginPlugin && m.Origin != store.OriginHeartbeat {
		return m.Authority == chat.Owner
	}
	owners := h.config.For(m.Channel).Access.Owners
	return m.Chat.Kind == chat.Direct && slices.ContainsFunc(m.Sender.IDs(), func(id chat.UserID) bool {
		return slices.Contains(owners, m.Channel+":"+string(id))
	})
}

// authority is that of a message, but for an owner's where no owner is behind it.
func (h *Host) authority(m store.Message) chat.Authority {
	if m.Authority == chat.Owner && !h.owned(m) {
		return chat.Authorised
	}
	return m.Authority
}

// systemPrompt is what the agent is told before all messages of a session.
func (h *Host) systemPrompt(m store.Message, s store.Session, model string) agent.Prompt {
	settings := h.config.For(m.Channel)
	limits, _ := h.supervisor.Limits(m.Channel, m.Chat.Kind)
	prompt := h.prompter.Prompt(agent.Session{
		Channel: m.Channel, Kind: m.Chat.Kind, Owner: h.owned(m),
		Always: h.activation(m.Channel, m.Chat, s) == "always", MayBeSilent: settings.Reply.Silent == "groups", Model: model,
		Files: len(limits.MediaOut) > 0, Replies: limits.Replies, Speech: h.speech(m, s) == "tagged",
	})
	h.complain(prompt.Problems)
	return prompt
}

// activation tells when the agent speaks in a chat: always, or where it is mentioned.
func (h *Host) activation(channel string, c chat.Chat, s store.Session) string {
	if s.Overrides.Activation != "" {
		return s.Overrides.Activation
	}
	access := h.config.For(channel).Access
	required := access.RequireMention
	if g, ok := h.inbox.Group(channel, c.ID); ok && g.RequireMention != nil {
		required = *g.RequireMention
	}
	if required {
		return "mention"
	}
	return "always"
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
