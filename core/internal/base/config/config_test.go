package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// variables is an environment of these variables and HOME.
func variables(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "HOME" {
			return "/home/u", true
		}
		v, ok := env[name]
		return v, ok
	}
}

// write puts a config file into a folder of its own and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a file that must be good.
func load(t *testing.T, text string, env map[string]string) *config.Config {
	t.Helper()
	c, err := config.Load(write(t, text), variables(env))
	if err != nil {
		t.Fatalf("Load:\n%v", err)
	}
	return c
}

func TestShippedFile(t *testing.T) {
	t.Parallel()
	c, err := config.Load("../../../../config.hcl", variables(nil))
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]bool{}
	for _, p := range c.Plugins {
		running[p.Label] = p.Enabled
	}
	if diff := cmp.Diff(map[string]bool{"webchat": true, "memory": true, "schedule": false, "telegram": false, "whatsapp": false, "discord": false}, running); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	if c.StateDir != "/home/u/.local/state/clawhost" || c.Agent.Workspace != "/home/u/claw" {
		t.Errorf("paths: %s, %s", c.StateDir, c.Agent.Workspace)
	}
	if diff := cmp.Diff([]string{"webchat:local"}, c.Access.Owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	raw, err := os.ReadFile("../../../../config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	// Who switches WhatsApp on does not begin to answer everybody who knows the account.
	enabled := strings.Replace(string(raw), "enabled = false # linked", "enabled = true # linked", 1)
	if got := load(t, enabled, nil).For("whatsapp").Access.DM; got != "allowlist" {
		t.Errorf("WhatsApp's direct chats have the policy %q", got)
	}
}

// Behaviour: setting-precedence.
func TestForResolvesAttributeByAttribute(t *testing.T) {
	t.Parallel()
	c := load(t, `
plugin "telegram" {
  inbound {
    max_age = "1h drop"
  }
  reply {
    prefix = "T: "
  }
  access {
    require_mention = false
    group "a" {
      history_limit = 7
    }
    group "b" {}
  }
  queue {
    cap = 3
  }
  session {
    daily_reset = "05:00"
    reset "group" {
      daily = ""
    }
    reset "thread" {}
  }
}
queue {
  mode = "followup"
}
session {
  idle_reset = "1h"
  reset "group" {
    idle  = "2h"
    daily = "03:00"
  }
}
reply {
  prefix     = "top"
  text_limit = 500
}
access {
  owners = ["telegram:1"]
  group "a" {
    require_mention = true
  }
}
plugin "other" {}
`, nil)

	got := c.For("telegram")
	if got.Inbound != (config.Inbound{Debounce: config.AutoDebounce, MaxAge: time.Hour, Drop: true}) {
		t.Errorf("inbound %+v", got.Inbound)
	}
	if got.Queue != (config.Queue{Mode: "followup", Debounce: 500 * time.Millisecond, Cap: 3, Drop: "summarize", Receipt: true}) {
		t.Errorf("queue %+v", got.Queue)
	}
	if got.Reply.Prefix != "T: " || got.Reply.TextLimit != 500 || got.Reply.Typing != "thinking" {
		t.Errorf("reply %+v", got.Reply)
	}
	if diff := cmp.Diff([]string{"telegram:1"}, got.Access.Owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	must, seven := true, 7
	if diff := cmp.Diff(map[string]config.Group{"a": {RequireMention: &must, HistoryLimit: &seven}, "b": {}}, got.Access.Group); diff != "" || got.Access.RequireMention {
		t.Errorf("mentions are required: %v; groups (-want +got):\n%s", got.Access.RequireMention, diff)
	}

	two, three, off := 2*time.Hour, config.Clock(3*60), config.Off
	if diff := cmp.Diff(map[string]config.Reset{"group": {Idle: &two, Daily: &off}, "thread": {}}, got.Session.Reset); diff != "" ||
		got.Session.IdleReset != time.Hour || got.Session.DailyReset != 5*60 {
		t.Errorf("session %+v; resets (-want +got):\n%s", got.Session, diff)
	}
	if diff := cmp.Diff(map[string]config.Reset{"group": {Idle: &two, Daily: &three}}, c.Session.Reset); diff != "" || c.Session.DailyReset != config.Off {
		t.Errorf("the plugin block changed the top level: %+v; resets (-want +got):\n%s", c.Session, diff)
	}
	if diff := cmp.Diff(map[string]config.Group{"a": {RequireMention: &must}}, c.Access.Group); diff != "" {
		t.Errorf("the plugin block changed the top level's groups (-want +got):\n%s", diff)
	}

	for _, channel := range []string{"other", "unknown"} {
		if diff := cmp.Diff(c.Settings, c.For(channel)); diff != "" {
			t.Errorf("%s (-top +channel):\n%s", channel, diff)
		}
	}
	if c.Reply.Prefix != "top" {
		t.Errorf("the plugin block changed the top level: %+v", c.Settings)
	}
}
