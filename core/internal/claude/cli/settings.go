package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeSettings writes the settings file. The CLI deletes old transcripts; they are kept for a century so that sessions
// can be resumed. Any process of the user could write into a session by the socket that the CLI opens; the settings
// refuse such messages. The rules of denied paths apply to the CLI's file tools; only the operating system restricts
// shell commands.
func writeSettings(cfg Options) (string, error) {
	const days = 36500
	deny := []string{}
	for _, path := range cfg.DenyPaths {
		paths := []string{path}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			paths = append(paths, real)
		}
		for _, p := range paths {
			pattern, err := denyPattern(p)
			if err != nil {
				return "", err
			}
			for _, tool := range []string{"Read", "Edit"} {
				deny = append(deny, fmt.Sprintf("%s(%s)", tool, pattern), fmt.Sprintf("%s(%s/**)", tool, pattern))
			}
		}
	}
	settings := map[string]any{
		"cleanupPeriodDays":   days,
		"crossSessionInbound": "refuse",
		"permissions":         map[string]any{"deny": deny},
	}
	if !cfg.TrustProject { // no settings of the workspace are read; should they ever be, they cannot do this
		settings["disableAllHooks"] = true
		settings["disableSkillShellExecution"] = true
		settings["sandbox"] = map[string]any{"enabled": false}
	}
	data, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(cfg.RunDir, "claude-settings.json")
	if err := writePrivate(file, data); err != nil {
		return "", fmt.Errorf("write claude's settings: %w", err)
	}
	return file, nil
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
