package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// claudeDir returns the folder of the CLI's login and transcripts, according to the CLI's environment. It is empty if it is
// unknown.
func (d *decoder) claudeDir(c *Config) string {
	variable := func(name string) string {
		if value, ok := c.Claude.Env[name]; ok {
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
	return filepath.Join(c.Agent.Workspace, dir) // the CLI's working directory
}

// checkWorkspace refuses a workspace that is a file, or that overlaps with the host's files: the agent reads and sends
// files from the workspace, and may be allowed to change them.
func (d *decoder) checkWorkspace(c *Config, body *hclsyntax.Body) {
	workspace := c.Agent.Workspace
	if workspace == "" {
		return // reported
	}
	given := attribute(body, "agent", "workspace")
	refuse := func(other *hclsyntax.Attribute, format string, args ...any) {
		at := hcl.Range{}
		if a := cmp.Or(given, other); a != nil {
			at = a.Expr.Range()
		}
		d.report(at, "Unsuitable value", "agent.workspace "+fmt.Sprintf(format, args...))
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
		{"the folder of Claude Code's login", c.Claude.ConfigDir, attribute(body, "claude", "env"), true},
		{"plugin_dir", c.PluginDir, body.Attributes["plugin_dir"], false},
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

// attribute returns an attribute of the first block of a type, or nil.
func attribute(body *hclsyntax.Body, block, name string) *hclsyntax.Attribute {
	for _, b := range body.Blocks {
		if b.Type == block {
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
