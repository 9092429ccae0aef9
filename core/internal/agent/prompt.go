// Package agent says who the agent is, what it is told and given to do, and how that may end.
package agent

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Identity is what the agent is told about itself in every session.
type Identity struct {
	Name    string
	Persona string   // the operator's own words; may be empty
	Owners  []string // whom it works for, each by a name or as channel:user; may be empty
	// Workspace is the agent's working folder, an absolute path.
	Workspace string
	// ContextFiles are the absolute paths of files that the agent is shown. One within the workspace may be a symbolic link
	// only to another place in it, because the agent itself can write there.
	ContextFiles []string
	Timezone     *time.Location // of the times in messages
}

// Session is what differs between the sessions' prompts.
type Session struct {
	Channel string // the plugin instance's label
	Kind    chat.Kind
	// Owner tells that all who write in this chat are owners. Together with [chat.Direct] it opens the memory files.
	Owner       bool
	Always      bool   // in a group: it is given every message, not only those that are addressed to it
	MayBeSilent bool   // in a group: it may answer with nothing; never in a direct chat, whatever stands here
	Files       bool   // the chat takes files
	Replies     bool   // the chat shows which message another one answers
	Speech      bool   // what it marks is spoken
	Model       string // may be empty
}

// Prompt is what the agent is told before all messages. It is shared and must not be changed.
type Prompt struct {
	Text     string
	Private  bool   // it opens the owner's memory
	Skills   string // names the listed skills: another one as soon as one of them is; empty: there are none
	Sections []Section
	Problems []error // the files that are not shown, or not whole; a missing one is [io/fs.ErrNotExist]
}

// Section is a part of a prompt, under a heading of its own.
type Section struct {
	Name  string
	Bytes int
}

// maxPrompts bounds the prompts that are kept: the sessions of a host have mostly one of a few.
const maxPrompts = 8

// Prompter builds system prompts. It looks at the files each time, and reads those that changed. It is safe for concurrent
// use.
type Prompter struct {
	id Identity

	mutex   sync.Mutex
	files   snapshot[shownFiles]
	folders snapshot[skillFolders]
	skills  snapshot[shownSkills]
	built   map[Session]Prompt // of the files and skills as they are
}

// NewPrompter returns a Prompter for an agent.
func NewPrompter(id Identity) *Prompter {
	return &Prompter{id: id, built: make(map[Session]Prompt)}
}

// Prompt returns what the agent is told in a session. It changes only when the session's description, a context file or the
// list of skills does, so that prompts can be cached.
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

// build builds a session's prompt of the files and skills as they were seen.
func (p *Prompter) build(s Session) Prompt {
	files, skills := p.files.value, p.skills.value
	prompt := Prompt{Private: s.private(), Skills: skills.hash, Problems: slices.Concat(files.problems, skills.problems)}

	var text strings.Builder
	for _, section := range []struct{ name, text string }{
		{"identity", identity(p.id)},
		{"persona", persona(p.id)},
		{"user", user(p.id, s)},
		{"memory", memory(s)},
		{"messages", messages},
		{"answers", answers(s)},
		{"workspace", workspace(p.id)},
		{"skills", skillList(skills.list)},
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

// SkillList returns the skills that prompts list, by name.
func (p *Prompter) SkillList() []Skill {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.look()
	return slices.Clone(p.skills.value.list)
}

// look sees the files and skills as they are now. Prompts that were built of others are forgotten.
func (p *Prompter) look() {
	workspace := p.id.Workspace
	files := p.files.refresh(lookAt(p.id.ContextFiles), func([]stamp) shownFiles { return contextFiles(workspace, p.id.ContextFiles) })
	p.folders.refresh(lookAt([]string{filepath.Join(workspace, skillFolder)}), func([]stamp) skillFolders { return listSkills(workspace) })
	skills := p.skills.refresh(p.folders.value.stamps(workspace), func(stamps []stamp) shownSkills { return readSkills(workspace, stamps) })
	if files || skills {
		clear(p.built)
	}
}
