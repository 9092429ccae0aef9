// Package agent defines the agent: its identity, prompt and profile, and the results of its turns.
package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Identity is what every session's prompt says about the agent itself.
type Identity struct {
	Name    string
	Persona string          // the operator's text; may be empty
	Skills  config.Patterns // of the skills that are used
	Owners  []string        // the people whom it works for, each by name or as channel:user; may be empty
	// Workspace is the agent's working folder, an absolute path.
	Workspace string
	// ContextFiles are the absolute paths of files to include in the prompt. A file in the workspace may be a symbolic
	// link only to another place in it, because the agent can write there.
	ContextFiles []string
	Timezone     *time.Location // of the times in messages
	// Aliases are the config's names for models, with the models.
	Aliases map[string]string
}

// Session is what differs between the prompts of sessions.
type Session struct {
	Channel string // the plugin instance's label
	Kind    chat.Kind
	Folder  string // the working folder, if it is not the workspace; else empty
	// Worktree reports whether the folder is a git worktree for this thread alone.
	Worktree bool
	Persona  string          // the operator's text for this chat, in addition to the agent's; may be empty
	Skills   config.Patterns // of the agent's skills that are used here
	// Owner reports whether everyone who writes in this chat is an owner. With [chat.Direct] it includes the memory
	// files.
	Owner       bool
	Always      bool   // in a group: the agent gets every message, not only those addressed to it
	MayBeSilent bool   // it may answer with nothing
	Files       bool   // the chat accepts files
	Replies     bool   // the chat shows to which message another one replies
	Speech      bool   // text marked as speech is spoken
	ByTool      bool   // only what it sends by the tool "message" is sent, and its answers are private
	Model       string // may be empty
}

// Prompt is a system prompt. It is shared and must not be changed.
type Prompt struct {
	Text     string
	Private  bool   // it includes the owner's memory
	Skills   string // identifies the listed skills: changes when one of them does; empty: there are none
	Sections []Section
	Problems []error // the files that are missing or cut; a missing one is [io/fs.ErrNotExist]
}

// Section is a part of a prompt with its own heading.
type Section struct {
	Name  string
	Bytes int
}

// maxPrompts bounds the cached prompts: the sessions of a host mostly share a few.
const maxPrompts = 8

// Prompter builds system prompts. It checks the files each time, and reads them again if one has changed. It is safe for
// concurrent use.
type Prompter struct {
	id Identity

	mutex sync.Mutex
	cache *workspace.Cache[shown]
	shown shown
	built map[Session]Prompt // from shown
}

// shown is what prompts show of the workspace.
type shown struct {
	files  shownFiles
	skills shownSkills
}

// NewPrompter returns a Prompter for an agent.
func NewPrompter(id Identity) *Prompter {
	return &Prompter{id: id, cache: workspace.NewCache[shown](id.Workspace), built: make(map[Session]Prompt)}
}

// PromptersOf returns the prompters of a config's agents, by their labels.
func PromptersOf(c *config.Config) map[string]*Prompter {
	all := map[string]*Prompter{}
	for _, a := range c.AllAgents() {
		all[a.Label] = NewPrompter(Identity{
			Name: a.Name, Persona: a.SystemPrompt, Skills: a.Skills, Owners: c.Access.Owners, Workspace: a.Workspace,
			ContextFiles: a.ContextFiles, Timezone: a.Timezone, Aliases: a.Claude.Aliases,
		})
	}
	return all
}

// Prompt returns the system prompt of a session. It changes only when the session's description, a context file or the
// list of skills does, so that the API can cache it.
func (p *Prompter) Prompt(s Session) Prompt {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.look()
	if prompt, ok := p.built[s]; ok {
		return prompt
	}
	if len(p.built) == maxPrompts {
		clear(p.built)
	}
	p.built[s] = p.build(s)
	return p.built[s]
}

// build builds a session's prompt from the current files and skills.
func (p *Prompter) build(s Session) Prompt {
	files, skills := p.shown.files, p.shown.skills.only(s.Skills)
	prompt := Prompt{Private: s.private(), Skills: skills.hash, Problems: slices.Concat(files.problems, skills.problems)}

	var text strings.Builder
	for _, section := range []struct{ name, text string }{
		{"identity", identity(p.id)},
		{"persona", persona(p.id, s)},
		{"user", user(p.id, s)},
		{"memory", memory(p.id, s)},
		{"messages", messages},
		{"answers", answers(s)},
		{"workspace", workingFolder(p.id, s)},
		{"commands", commands(p.id, s)},
		{"skills", skillList(p.id, s, skills.list)},
		{"runtime", whereItRuns(s)},
		{"date", date(p.id)},
		{"group", group(s)},
		{"files", fileBlocks(files.files)},
	} {
		if section.text == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(section.text)
		prompt.Sections = append(prompt.Sections, Section{Name: section.name, Bytes: len(section.text)})
	}
	prompt.Text = text.String()
	return prompt
}

// SkillList returns the skills that prompts list, by name. A nil Prompter has none.
func (p *Prompter) SkillList() []Skill {
	if p == nil {
		return nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.look()
	return slices.Clone(p.shown.skills.list)
}

// look reads the files and skills if they have changed, and then drops the prompts that were built from older ones. While the
// file system of the workspace does not answer, the older ones remain.
func (p *Prompter) look() {
	found, fresh, err := p.cache.Get(func(folder *workspace.Folder) shown {
		return shown{contextFiles(p.id.Workspace, folder, p.id.ContextFiles), skills(p.id.Workspace, folder).only(p.id.Skills)}
	})
	if !fresh {
		return
	}
	if err != nil {
		found.files.problems = []error{fmt.Errorf("workspace %s: %w", p.id.Workspace, err)}
	}
	p.shown = found
	clear(p.built)
}
