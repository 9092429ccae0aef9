package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Who talks to a running host has none of its variables.
func TestLoadSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := func(name string) (string, bool) { return "/home/anna", name == "HOME" }
	for text, want := range map[string]string{
		``:                           "/home/anna/.local/state/clawhost",
		`state_dir = "state"`:        filepath.Join(dir, "state"),
		`state_dir = env("X", "/s")`: "/s",
		"state_dir = \"/s\"\nnot_known = 1\nplugin \"telegram\" {\n  config { token = env(\"TOKEN\") }\n}\n": "/s",
	} {
		path := filepath.Join(dir, "config.hcl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := config.LoadSocket(path, home); err != nil || got != want+"/clawhost.sock" {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`state_dir = env("X")`, `state_dir = 7`, `state_dir = "`} {
		path := filepath.Join(dir, "bad.hcl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var problems config.Problems
		if _, err := config.LoadSocket(path, home); !errors.As(err, &problems) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
