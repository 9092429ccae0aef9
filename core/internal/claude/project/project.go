// Package project resolves what Claude Code is given in addition to the host's own: the MCP servers of the config, and what is used of
// the workspace's own setup for Claude Code. Nothing of that setup is given to Claude Code as it is: the host reads it,
// follows no link out of the workspace, and writes what has no power of its own into a folder of the host's.
package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Options are the settings and dependencies of a [Folder].
type Options struct {
	Agent  *config.Agent
	CopyOf string // the folder whose decisions about servers count; empty: the agent's workspace
	Dir    string // of the host, for what Claude Code reads
	Store  *store.Store
	Owners *notice.Owners
}

// Folder is the workspace of an agent. It is safe for concurrent use.
type Folder struct {
	options    Options
	log        hclog.Logger
	configured []agent.MCPServer

	mu       sync.Mutex
	others   map[string]*Folder // further folders in which the agent works, by path
	found    *workspace.Cache[reading]
	current  *agent.Setup
	mark     string   // identifies current
	built    []string // folders that were written, the oldest first
	problems string   // that were logged
}

// New returns the folder of an agent.
func New(o Options, log hclog.Logger) *Folder {
	f := &Folder{options: o, log: log, found: workspace.NewCache[reading](o.Agent.Workspace)}
	for _, name := range slices.Sorted(maps.Keys(o.Agent.Claude.MCP)) {
		m := o.Agent.Claude.MCP[name]
		f.configured = append(f.configured, agent.MCPServer{Name: name, Command: m.Command, Env: m.Env, URL: m.URL, Headers: m.Headers})
	}
	return f
}

// maxOthers bounds the folders whose state is kept. One that is forgotten is read again.
const maxOthers = 64

// In returns another folder in which the agent works; empty: this one. With a worktree, it is that copy of the folder, in which the
// decisions about the folder's servers count.
func (f *Folder) In(folder, worktree string) *Folder {
	path := cmp.Or(worktree, folder)
	if path == "" || f.options.Agent.Workspace == path {
		return f
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.others[path]; other != nil {
		return other
	}
	if f.others == nil || len(f.others) == maxOthers {
		f.others = map[string]*Folder{}
	}
	agent, o := *f.options.Agent, f.options
	agent.Workspace, o.Agent, o.CopyOf = path, &agent, ""
	if worktree != "" {
		o.CopyOf = cmp.Or(folder, f.options.Agent.Workspace)
	}
	o.Dir += "/" + digest(path)[:16]
	f.others[path] = New(o, f.log)
	return f.others[path]
}

// all returns this folder and the others.
func (f *Folder) all() []*Folder {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Folder{f}, slices.Collect(maps.Values(f.others))...)
}

func (f *Folder) uses(part string) bool { return slices.Contains(f.options.Agent.Project, part) }

// Setup returns the setup for a turn that begins now. It returns the same pointer as long as nothing changes. What cannot be
// read is left out, and logged.
func (f *Folder) Setup(ctx context.Context) *agent.Setup {
	found := f.look()
	allowed, problems := f.allowed(ctx, found.servers)
	servers := slices.Concat(f.configured, allowed)
	mark := digest(servers, found.mark)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.complain(slices.Concat(found.problems, problems))
	if f.current != nil && f.mark == mark {
		return f.current
	}
	next := &agent.Setup{Servers: servers, Skills: found.skills, Instructions: found.instructions}
	if err := f.write(next, found.files); err != nil {
		f.log.Error("the workspace's setup cannot be prepared for Claude Code and is left out", "error", err)
		mark = "" // it is tried again
		next.Plugin, next.Skills = "", nil
	}
	f.current, f.mark = next, mark
	return next
}

// look returns what the workspace has, or, while its file system does not answer, what it had.
func (f *Folder) look() reading {
	if len(f.options.Agent.Project) == 0 {
		return reading{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found, fresh, err := f.found.Get(f.read)
	switch {
	case err == nil:
	case fresh:
		found.problems = []error{err}
	default:
		f.log.Warn("the workspace cannot be read, and what was read before is used", "error", err)
	}
	return found
}

// complain logs what is left out, when it changes.
func (f *Folder) complain(problems []error) {
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.Error())
	}
	slices.Sort(texts)
	text := strings.Join(texts, "; ")
	if text != f.problems && text != "" {
		f.log.Warn("a part of the workspace's setup for Claude Code is left out", "error", text)
	}
	f.problems = text
}

// kept is how many written folders remain: processes that started before may still read older ones.
const kept = 16

// write writes the files into a folder of their own.
func (f *Folder) write(setup *agent.Setup, files tree) error {
	if len(files) == 0 {
		return nil
	}
	dir := f.options.Dir + "/" + digest(files)[:32]
	setup.Plugin = dir + "/" + plugin
	if err := files.write(dir); err != nil {
		return err
	}
	f.built = append(slices.DeleteFunc(f.built, func(old string) bool { return old == dir }), dir)
	for len(f.built) > kept {
		if err := os.RemoveAll(f.built[0]); err != nil {
			return err
		}
		f.built = f.built[1:]
	}
	return nil
}

func digest(parts ...any) string {
	sum := sha256.New()
	for _, part := range parts {
		data, err := json.Marshal(part)
		fmt.Fprintf(sum, "%d %v\n", len(data), err) // texts and lists and maps of them always encode
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
