package prompt

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// Profile returns how Claude Code is run for a conversation.
func (b *Builder) Profile(c *conversation.Conversation) agent.Profile {
	prompt := b.System(c)
	return agent.Profile{
		Model: c.Model, Effort: c.Effort, Fast: c.Fast, PermissionMode: c.PermissionMode,
		SystemPrompt: prompt.Text, Skills: prompt.Skills, Private: prompt.Private, Only: c.Tools, Apart: apart(c),
	}
}

// apart keeps a conversation in its worktree, if it has one.
func apart(c *conversation.Conversation) agent.Apart {
	if c.CopyOf == "" {
		return agent.Apart{}
	}
	others := c.Agent.Worktrees()
	name, within := c.Folder, ""
	if in, err := filepath.Rel(others, c.Folder); err == nil {
		name, within, _ = strings.Cut(in, string(filepath.Separator))
	}
	main := c.CopyOf
	if real, err := filepath.EvalSymlinks(main); err == nil && within != "" { // a folder of the repository
		main = strings.TrimSuffix(real, string(filepath.Separator)+within)
	}
	return agent.Apart{Worktree: filepath.Join(others, name), Main: main, Others: others, Home: c.Agent.Workspace}
}

// System returns the system prompt of a conversation.
func (b *Builder) System(c *conversation.Conversation) agent.Prompt {
	prompt := b.options.System.Get()[c.Agent.Label].Prompt(agent.Session{
		Persona: c.SystemPrompt, Folder: c.Folder, Worktree: c.CopyOf != "", Skills: c.Skills,
		Channel: c.Caller.Address.Channel, Kind: c.Caller.Kind, Owner: c.Owned,
		Always: c.Activation == "always", MayBeSilent: c.MayBeSilent, Model: c.Model,
		Files: len(c.Limits.MediaOut) > 0, Replies: c.Limits.Replies, Speech: c.Speech == "tagged",
		ByTool: c.Visible == "tool",
	})
	b.complain(prompt.Problems)
	return prompt
}

// complain logs the files that are not shown to the agent, when the list has changed. A missing file is not logged: not
// every workspace has all of them.
func (b *Builder) complain(problems []error) {
	var texts []string
	for _, why := range problems {
		if !errors.Is(why, fs.ErrNotExist) {
			texts = append(texts, why.Error())
		}
	}
	text := strings.Join(texts, "; ")
	if b.unshown.Swap(text) != text && text != "" {
		b.log.Warn("some files are not shown to the agent", "error", text)
	}
}
