package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// settings is the file with the settings of an agent. It is written when the first process needs it.
type settings struct {
	path    string
	options Options

	mu      sync.Mutex
	written bool
}

func newSettings(cfg Options) *settings {
	return &settings{path: filepath.Join(cfg.RunDir, "claude-settings.json"), options: cfg}
}

// write writes the file, if that has not succeeded yet.
func (s *settings) write() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written {
		return nil
	}
	err := writeSettings(s.path, s.options)
	s.written = err == nil
	return err
}

// askedTool is the host's tool about whose uses the CLI asks the host in all permission modes, although it is allowed: a job is asked
// about like a command of Bash.
const askedTool = "mcp__" + ServerName + "__jobs"

// writeSettings writes a settings file. The CLI deletes old transcripts; they are kept for a century so that sessions
// can be resumed. Any process of the user could write into a session by the socket that the CLI opens; the settings
// refuse such messages. The rules of denied paths apply to the CLI's file tools; only the operating system restricts
// shell commands.
func writeSettings(file string, cfg Options) error {
	const days = 36500
	deny := slices.Concat(cfg.Deny...)
	if deny == nil {
		deny = []string{}
	}
	content := map[string]any{
		"cleanupPeriodDays":   days,
		"crossSessionInbound": "refuse",
		"permissions":         map[string]any{"deny": deny, "ask": []string{askedTool}},
	}
	if !cfg.TrustProject { // no settings of the workspace are read; should they ever be, they cannot do this
		content["disableAllHooks"] = true
		content["disableSkillShellExecution"] = true
		content["sandbox"] = map[string]any{"enabled": false}
	}
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	if err := writePrivate(file, data); err != nil {
		return fmt.Errorf("write claude's settings: %w", err)
	}
	return nil
}

// Deny returns the rules by which the agent's file tools may touch neither a path nor what is below it.
func Deny(path string) (rules []string, err error) {
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		paths = append(paths, real)
	}
	for _, p := range paths {
		pattern, err := denyPattern(p)
		if err != nil {
			return nil, err
		}
		for _, tool := range []string{"Read", "Edit"} {
			rules = append(rules, tool+"("+pattern+")", tool+"("+pattern+"/**)")
		}
	}
	return rules, nil
}

// sources are the settings that the CLI reads in addition to the host's.
func sources(cfg Options) string {
	if cfg.TrustProject {
		return "project"
	}
	return ""
}

// denyPattern returns an absolute path in the form of the CLI's rules: with a slash before it, and escaped brackets.
// Other pattern characters at least match themselves. A test showed that a backslash cannot be expressed.
func denyPattern(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("denied path %s is not absolute", path)
	}
	if strings.ContainsAny(path, "\\\n") {
		return "", fmt.Errorf("claude cannot be kept from %q: its name has a backslash or a line break", path)
	}
	return "/" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(path), nil
}

// writePrivate replaces a file by one that only this user can read.
func writePrivate(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(next, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
