package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/lazyregexp"
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
	errNoFile   = errors.New("it is no regular file")
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

// reader reads a workspace. No link leads it out.
type reader struct {
	root     *os.Root
	files    tree
	seen     map[string]bool // instructions
	told     strings.Builder // their texts
	problems []error
}

// read reads the parts of the workspace that are used, and lists the skills. With a trusted folder Claude Code reads all but
// the servers itself.
func (f *Folder) read(setup *agent.Setup) (tree, []error) {
	if len(f.options.Agent.Project) == 0 || f.options.Agent.TrustProject {
		return nil, nil
	}
	root, err := os.OpenRoot(f.options.Agent.Workspace)
	if err != nil {
		return nil, []error{err}
	}
	defer root.Close()
	r := &reader{root: root, files: tree{}, seen: map[string]bool{}}
	if f.uses("instructions") {
		r.instructions("CLAUDE.md", 0)
		r.instructions(".claude/CLAUDE.md", 0)
		for _, name := range r.list(".claude/rules") {
			if strings.HasSuffix(name, ".md") {
				r.instructions(".claude/rules/"+name, 0)
			}
		}
	}
	setup.Instructions = r.told.String()
	if f.uses("skills") {
		setup.Skills = r.skills(f.options.Agent.Workspace)
		r.commands()
	}
	if f.uses("agents") {
		r.agents()
	}
	if len(r.files) > 0 {
		r.files[plugin+"/.claude-plugin/plugin.json"] = []byte(`{"name":"` + pluginName + `","version":"1.0.0"}`)
	}
	return r.files, r.problems
}

// refuse notes a file that is left out. A missing one is no problem.
func (r *reader) refuse(name string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", name, err))
	}
}

// file reads a regular file. Opening another kind does not block.
func (r *reader) file(name string) ([]byte, error) {
	if len(r.files)+len(r.seen) >= maxFiles {
		return nil, errTooMany
	}
	info, err := r.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, err
	}
	return readFile(r.root, name, maxFile)
}

func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = errTooLong
	}
	return data, err
}

// list returns the names in a folder, sorted and bounded.
func (r *reader) list(name string) []string {
	folder, err := r.root.Open(name)
	if err != nil {
		r.refuse(name, err)
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		r.refuse(name, err)
	}
	slices.Sort(names)
	return names
}

// instructions takes a file of instructions with what it imports from the workspace.
func (r *reader) instructions(name string, depth int) {
	if r.seen[name] {
		return
	}
	data, err := r.file(name)
	if err == nil && r.told.Len()+len(data) > maxInstructions {
		err = errTooMuch
	}
	if err != nil {
		r.refuse(name, err)
		return
	}
	r.seen[name] = true
	fmt.Fprintf(&r.told, "\n\n### %s\n\n%s", name, strings.TrimSpace(strings.ToValidUTF8(string(data), "�")))
	if depth == maxDepth {
		return
	}
	for _, found := range importName().FindAllSubmatch(data, -1) {
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
