package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// claudeDir returns the folder of the login and transcripts of an agent's CLI, according to the CLI's environment. It is empty
// if it is unknown.
func (d *decoder) claudeDir(a *Agent) string {
	variable := func(name string) string {
		if value, ok := a.Claude.Env[name]; ok {
			return value
		}
		if value, ok := d.env(name); ok {
			return value
		}
		return ""
	}
	dir := variable("CLAUDE_CONFIG_DIR")
	if home := variable("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(a.Workspace, dir) // the CLI's working directory
}

// checkWorkspace refuses a workspace that is a file, or that overlaps with the host's files: the agent reads and sends
// files from the workspace, and may be allowed to change them.
func (d *decoder) checkWorkspace(c *Config, a *Agent, body *hclsyntax.Body) {
	workspace := a.Workspace
	if workspace == "" {
		return // reported
	}
	given := a.attribute(body, "agent", "workspace")
	refuse := func(other *hclsyntax.Attribute, format string, args ...any) {
		d.report(rangeOf(cmp.Or(given, other)), "Unsuitable value", a.title("agent", "workspace")+" "+fmt.Sprintf(format, args...))
	}
	if info, err := os.Stat(workspace); err == nil && !info.IsDir() {
		refuse(nil, "must be a folder, and %s is a file.", workspace)
		return
	}
	const instead = `Give the agent a folder of its own, such as "~/claw".`
	if home, ok := d.env("HOME"); ok && filepath.IsAbs(home) && holds(workspace, home) {
		refuse(nil, "must not be or contain your home folder: the agent can read and send what is in the workspace. %s", instead)
		return
	}
	for _, other := range []struct {
		what, path string
		at         *hclsyntax.Attribute
		inside     bool // the workspace must not be in it either
	}{
		{"the config file", c.Path, nil, false},
		{"state_dir", c.StateDir, body.Attributes["state_dir"], true},
		{"the folder of Claude Code's login", a.Claude.ConfigDir, a.attribute(body, "claude", "env"), true},
		{"plugin_dir", c.PluginDir, body.Attributes["plugin_dir"], false},
		{"the log file", c.Log.File, nil, false},
	} {
		switch {
		case other.path == "":
		case holds(workspace, other.path):
			refuse(other.at, "must not contain %s, %s: the agent can read and send what is in the workspace, and may be allowed to change it. Move one of them. %s",
				other.what, other.path, instead)
		case other.inside && holds(other.path, workspace):
			refuse(other.at, "must not be in %s, %s, which the agent must not read. %s", other.what, other.path, instead)
		}
	}
	for _, p := range c.Plugins {
		if p.Enabled && filepath.Dir(p.Source) != c.PluginDir && holds(workspace, p.Source) {
			refuse(p.block.Body.Attributes["source"],
				"must not contain the binary of plugin %q, %s: the agent may be allowed to change it. Move one of them. %s",
				p.Label, p.Source, instead)
		}
	}
}

// checkOverlaps refuses an agent's workspace within another agent's. Agents may share one, of which it warns.
func (d *decoder) checkOverlaps(c *Config, body *hclsyntax.Body) (shared Problems) {
	type place struct {
		*Agent
		real string
	}
	var earlier []place
	for _, a := range c.AllAgents() {
		if a.Workspace == "" {
			continue // reported
		}
		now := place{a, realPath(a.Workspace)}
		for _, other := range earlier {
			at := cmp.Or(a.attribute(body, "agent", "workspace"), other.attribute(body, "agent", "workspace"))
			switch {
			case at == nil:
			case now.real == other.real:
				shared = append(shared, d.problem(at.Expr.Range(), "Shared workspace",
					fmt.Sprintf("The agents %q and %q have the same workspace, so each reads the other's files and memory.", other.Label, a.Label)))
			case strings.HasPrefix(now.real+"/", other.real+"/"), strings.HasPrefix(other.real+"/", now.real+"/"):
				d.report(at.Expr.Range(), "Unsuitable value", fmt.Sprintf("%s must neither contain the workspace of agent %q, %s, nor be within it: "+
					"each would read the other's files and memory. Give each a folder of its own, or both the same one.",
					a.title("agent", "workspace"), other.Label, other.Workspace))
			}
		}
		earlier = append(earlier, now)
	}
	return shared
}

// attribute returns an attribute of the block of a type that has no label, or nil.
func attribute(body *hclsyntax.Body, block, name string) *hclsyntax.Attribute {
	for _, b := range body.Blocks {
		if b.Type == block && len(b.Labels) == 0 {
			return b.Body.Attributes[name]
		}
	}
	return nil
}

// holds reports whether a path is a folder or within it, after resolving links and mounts. Neither needs to exist.
func holds(folder, path string) bool {
	folder, path = realPath(folder), realPath(path)
	info, err := os.Stat(folder)
	for {
		if path == folder {
			return true
		}
		if here, hereErr := os.Stat(path); err == nil && hereErr == nil && os.SameFile(info, here) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// maxLinksFollowed limits following links whose targets do not exist, which may form a cycle.
const maxLinksFollowed = 16

// realPath resolves links in the existing part of a path.
func realPath(path string) string {
	rest := ""
	for range maxLinksFollowed {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(found, rest)
		}
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			path = target
			continue
		}
		for {
			parent := filepath.Dir(path)
			if parent == path {
				return filepath.Join(path, rest)
			}
			rest, path = filepath.Join(filepath.Base(path), rest), parent
			if _, err := os.Lstat(path); err == nil {
				break
			}
		}
	}
	return filepath.Join(path, strings.TrimPrefix(rest, "/"))
}
