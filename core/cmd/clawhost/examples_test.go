package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/claims"
)

// exampleVariables is the environment that the example configs ask for.
var exampleVariables = map[string]string{
	"HOME":           "/home/u",
	"TELEGRAM_TOKEN": "1:AAF-not-a-real-token-of-a-bot-000000",
	"TEAM_TOKEN":     "2:AAF-not-a-real-token-of-a-bot-000000",
	"PRIVATE_TOKEN":  "3:AAF-not-a-real-token-of-a-bot-000000",
	"GITHUB_TOKEN":   "not-a-real-token",

	"GITHUB_WEBHOOK_SECRET": "not-a-real-secret",
	"BACKUP_SECRET":         "not-a-real-secret-either",
}

// Every example config is good, the plugins' own configs by the schemas of the plugins included.
func TestExampleConfigs(t *testing.T) {
	t.Parallel()
	folder, err := plugins()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../../../examples/*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 3 {
		t.Errorf("found %d example configs: %q", len(paths), paths)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(path, func(name string) (string, bool) {
				value, ok := exampleVariables[name]
				return value, ok
			})
			if err != nil {
				t.Fatalf("it is refused:\n%v", err)
			}
			for _, p := range c.Plugins {
				p.Source = filepath.Join(folder, filepath.Base(p.Source))
			}
			var problems config.Problems
			if err := claims.Check(t.Context(), c, claims.Options{Version: "test", Demo: true}).Err(); errors.As(err, &problems) {
				t.Errorf("a plugin refuses it:\n%v", problems)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
