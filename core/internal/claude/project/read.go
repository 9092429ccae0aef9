package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	maxFile  = 64 << 10 // bytes of one file
	maxFiles = 200      // of the whole setup
	maxDepth = 5        // of imports

	maxInstructions = 128 << 10 // bytes of all files
)

// plugin is the folder that Claude Code reads.
const plugin = "plugin"

// pluginName stands before the names of the workspace's skills and agents.
const pluginName = "project"

var (
	entryName  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	importName = lazyregexp.New(`(?m)(?:^|\s)@([A-Za-z0-9._/-]+)`)
)

var (
	errTooLong  = fmt.Errorf("it is longer than %d KiB", maxFile>>10)
	errTooMany  = fmt.Errorf("there are more than %d files", maxFiles)
	errTooMuch  = fmt.Errorf("all instructions are longer than %d KiB", maxInstructions>>10)
	errBadName  = errors.New("its name must be 1 to 64 of letters, digits, _ and -")
	errNoMatter = errors.New("its front matter has no description")
)

// tree are files by their slash-separated path.
type tree map[string][]byte

// write writes the files, closed to other users.
func (t tree) write(dir string) error {
	for name, data := range t {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// reading is what was read of the workspace.
type reading struct {
	files        tree // what Claude Code reads
	instructions string
	skills       []agent.Skill
	servers      []Asked // without decisions
	problems     []error // what is left out
	mark         string  // identifies files, skills and instructions
}

// reader reads a workspace.
type reader struct {
	folder   *workspace.Folder
	files    tree
	seen     map[string]bool // instructions that were looked for
	texts    strings.Builder // their texts
	problems []error
}

// read reads the parts of the workspace that are used. With a trusted folder Claude Code reads all but the servers itself.
func (f *Folder) read(folder *workspace.Folder) reading {
	r := &reader{folder: folder, files: tree{}, seen: map[string]bool{}}
	var found reading
	if !f.options.Agent.TrustProject {
		if f.uses("instructions") {
			r.instructions("CLAUDE.md", 0)
			r.instructions(".claude/CLAUDE.md", 0)
			for _, name := range r.list(".claude/rules") {
				if strings.HasSuffix(name, ".md") {
					r.instructions(".claude/rules/"+name, 0)
				}
			}
		}
		if f.uses("skills") {
			found.skills = r.skills(f.options.Agent.Workspace)
			r.commands()
		}
		if f.uses("agents") {
			r.agents()
		}
		if len(r.files) > 0 {
			r.files[plugin+"/.claude-plugin/plugin.json"] = []byte(`{"name":"` + pluginName + `","version":"1.0.0"}`)
		}
	}
	found.files, found.instructions = r.files, r.texts.String()
	if f.uses("mcp") {
		var problems []error
		found.servers, problems = f.servers(folder)
		r.problems = append(r.problems, problems...)
	}
	found.problems = r.problems
	found.mark = digest(found.files, found.skills, found.instructions)
	return found
}

// refuse notes a file that is left out. A missing one is no problem.
func (r *reader) refuse(name string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", name, err))
	}
}

// file reads a regular file. It refuses links.
func (r *reader) file(name string) ([]byte, error) {
	if r.full() {
		return nil, errTooMany
	}
	if info, err := r.folder.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, workspace.ErrNoFile
	}
	return readFile(r.folder, name)
}

// full reports whether no more files are looked for.
func (r *reader) full() bool { return len(r.files)+len(r.seen) > maxFiles }

func readFile(folder *workspace.Folder, name string) ([]byte, error) {
	data, err := folder.ReadFile(name, maxFile)
	if errors.Is(err, workspace.ErrTooLong) {
		err = errTooLong
	}
	return data, err
}

// list returns the names in a folder, sorted and bounded.
func (r *reader) list(name string) []string {
	entries, more, err := r.folder.List(name, maxFiles)
	if more {
		err = errTooMany
	}
	if err != nil {
		r.refuse(name, err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// instructions takes a file of instructions with what it imports from the workspace.
func (r *reader) instructions(name string, depth int) {
	if r.seen[name] {
		return
	}
	r.seen[name] = true // even if it is refused: a file can name it any number of times
	data, err := r.file(name)
	if err == nil && r.texts.Len()+len(data) > maxInstructions {
		err = errTooMuch
	}
	if err != nil {
		r.refuse(name, err)
		return
	}
	fmt.Fprintf(&r.texts, "\n\n### %s\n\n%s", name, strings.TrimSpace(strings.ToValidUTF8(string(data), "�")))
	if depth == maxDepth {
		return
	}
	for _, found := range importName().FindAllSubmatch(data, -1) {
		if r.full() {
			return // which was reported
		}
		imported := path.Join(path.Dir(name), string(found[1]))
		if !path.IsAbs(string(found[1])) && filepath.IsLocal(imported) {
			r.instructions(imported, depth+1)
		}
	}
}

// skills takes the skills' descriptions and texts. Further files of a skill stay where they are.
func (r *reader) skills(workspace string) []agent.Skill {
	var list []agent.Skill
	for _, folder := range r.list(".claude/skills") {
		name := ".claude/skills/" + folder + "/SKILL.md"
		if !entryName().MatchString(folder) {
			r.refuse(name, errBadName)
			continue
		}
		note := agent.SkillFiles(filepath.Join(workspace, ".claude/skills", folder))
		if description, ok := r.take(name, plugin+"/skills/"+folder+"/SKILL.md", folder, skillKeys, note); ok {
			list = append(list, agent.Skill{Name: pluginName + ":" + folder, Description: description})
		}
	}
	return list
}

func (r *reader) commands() { r.flat(".claude/commands", plugin+"/commands/", commandKeys) }

func (r *reader) agents() { r.flat(".claude/agents", plugin+"/agents/", agentKeys) }

// flat takes the Markdown files of a folder.
func (r *reader) flat(from, to string, keys []string) {
	for _, file := range r.list(from) {
		name, markdown := strings.CutSuffix(file, ".md")
		switch {
		case !markdown:
		case !entryName().MatchString(name):
			r.refuse(from+"/"+file, errBadName)
		default:
			r.take(from+"/"+file, to+file, name, keys, "")
		}
	}
}

// take takes a file with front matter, of which only some keys are kept.
func (r *reader) take(from, to, name string, keys []string, note string) (description string, ok bool) {
	data, err := r.file(from)
	if err == nil {
		data, description, err = powerless(data, name, keys)
	}
	if err != nil {
		r.refuse(from, err)
		return "", false
	}
	r.files[to] = append(data, note...)
	return description, true
}
