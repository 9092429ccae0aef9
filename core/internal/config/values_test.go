package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/config"
)

func TestEveryValueArrives(t *testing.T) {
	t.Parallel()
	path := write(t, `
state_dir  = "~/state"
plugin_dir = "plugins"
log {
  level  = "debug"
  format = "json"
}
store {
  driver = "sqlite"
}
agent {
  name          = "Ada"
  workspace     = "work"
  system_prompt = trimspace(file("persona.md"))
  context_files = ["AGENTS.md", "/etc/motd", "~/notes.md"]
  timezone      = "Europe/Berlin"
}
claude {
  command          = "./claude"
  model            = "sonnet"
  fallback_models  = ["haiku", "opus"]
  aliases          = {}
  effort           = "high"
  permission_mode  = "acceptEdits"
  allowed_tools    = ["Read"]
  disallowed_tools = ["Bash(rm *)"]
  args             = ["--add-dir", "/x"]
  env              = { A = env("A"), B = env("B", "b"), C = jsonencode([1]) }
  mode             = "persistent"
  timeout          = "90s"
  max_processes    = env("PROCESSES")
  park_after       = "1m"
}
session {
  scope          = "per-peer"
  identity_links = { anna = ["telegram:1", "webchat:local"] }
  idle_reset     = "0"
  daily_reset    = ""
  reset_triggers = []
}
inbound {
  debounce = "0s"
  max_age  = "0"
}
queue {
  mode = "followup"
}
reply {
  prefix          = "> "
  text_limit      = 1000
  chunk_mode      = "length"
  stream          = "off"
  human_delay     = "off"
  typing          = "never"
  typing_interval = "3s"
  reply_to        = "off"
  ack_reaction    = ""
  silent          = "never"
  verbose         = "off"
  reasoning       = "off"
  usage           = "off"
}
outbox {
  attempts = 3
  max_age  = "2h"
}
access {
  owners        = ["webchat:local"]
  dm            = "open"
  allow         = ["telegram:5"]
  commands_from = ["telegram:6"]
  groups        = "disabled"
  group "-100" {
    require_mention = env("MENTION")
  }
  require_mention  = null
  mention_patterns = []
  history_limit    = 0
}
plugin "telegram" {
  enabled = true
  source  = "my-telegram"
  sha256  = "`+strings.Repeat("Ab", 32)+`"
  env     = { HTTPS_PROXY = env("HTTPS_PROXY", "") }
  grants  = ["webchat"]
  hook {
    timeout  = "1s"
    on_error = "fail"
  }
}
plugin "other" {
  source = "~/bin/other"
}
plugin "plain" {}
`)
	dir := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(dir, "persona.md"), []byte("  Be kind.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(path, variables(map[string]string{"A": "a", "PROCESSES": "2", "MENTION": "false"}))
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	mention := false
	want := &config.Config{
		Path:      path,
		StateDir:  "/home/u/state",
		PluginDir: dir + "/plugins",
		Log:       config.Log{Level: "debug", Format: "json"},
		Agent: config.Agent{
			Name: "Ada", Workspace: dir + "/work", SystemPrompt: "Be kind.", Timezone: berlin,
			ContextFiles: []string{dir + "/work/AGENTS.md", "/etc/motd", "/home/u/notes.md"},
		},
		Claude: config.Claude{
			Command: dir + "/claude", Model: "sonnet", FallbackModels: []string{"haiku", "opus"}, Effort: "high",
			PermissionMode: "acceptEdits", AllowedTools: []string{"Read"}, DisallowedTools: []string{"Bash(rm *)"},
			Args: []string{"--add-dir", "/x"}, Env: map[string]string{"A": "a", "B": "b", "C": "[1]"},
			Timeout: 90 * time.Second, MaxProcesses: 2, ParkAfter: time.Minute,
		},
		Outbox: config.Outbox{Attempts: 3, MaxAge: 2 * time.Hour},
		Settings: config.Settings{
			Session: config.Session{
				Scope: "per-peer", IdentityLinks: map[string][]string{"anna": {"telegram:1", "webchat:local"}}, ResetTriggers: []string{},
			},
			Queue: config.Queue{Mode: "followup"},
			Reply: config.Reply{Prefix: "> ", TextLimit: 1000, Typing: "never", TypingInterval: 3 * time.Second, Silent: "never"},
			Access: config.Access{
				Owners: []string{"webchat:local"}, DM: "open", Allow: []string{"telegram:5"}, CommandsFrom: []string{"telegram:6"},
				Groups: "disabled", Group: map[string]config.Group{"-100": {RequireMention: &mention}}, RequireMention: true,
			},
		},
		Plugins: []*config.Plugin{
			{
				Label: "telegram", Enabled: true, Source: dir + "/plugins/my-telegram", SHA256: []byte(strings.Repeat("\xab", 32)),
				Env: map[string]string{"HTTPS_PROXY": ""}, Grants: []string{"webchat"},
				Hook: config.Hook{Timeout: time.Second, OnError: "fail"},
			},
			{Label: "other", Enabled: true, Source: "/home/u/bin/other", Hook: config.Hook{Timeout: 5 * time.Second, OnError: "skip"}},
			{
				Label: "plain", Enabled: true, Source: dir + "/plugins/clawhost-plain",
				Hook: config.Hook{Timeout: 5 * time.Second, OnError: "skip"},
			},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Plugin{}),
		cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got := load(t, "", nil)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got.PluginDir != filepath.Dir(program) || got.StateDir != "/home/u/.local/state/clawhost" || got.Agent.Workspace != "/home/u/clawhost" {
		t.Errorf("paths: %s, %s, %s", got.PluginDir, got.StateDir, got.Agent.Workspace)
	}
	want := config.Settings{
		Session: config.Session{Scope: "per-channel-peer", ResetTriggers: []string{"/new", "/reset"}},
		Inbound: config.Inbound{MaxAge: 24 * time.Hour},
		Queue:   config.Queue{Mode: "followup"},
		Reply:   config.Reply{Typing: "thinking", TypingInterval: 6 * time.Second, Silent: "groups"},
		Access:  config.Access{DM: "pairing", Groups: "allowlist", RequireMention: true},
	}
	if diff := cmp.Diff(want, got.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// A machine without HOME needs the paths in the file, and is told so.
func TestWithoutHome(t *testing.T) {
	t.Parallel()
	nothing := func(string) (string, bool) { return "", false }
	path := write(t, "agent {\n  workspace = \"~/w\"\n}\n")
	_, err := config.Load(path, nothing)
	want := path + `:1:1: Missing value; state_dir must be given, since its default cannot be told: is HOME set?
    agent {
` + path + `:1:1: Missing value; agent.workspace must be given, since its default cannot be told: is HOME set?
    agent {
` + path + `:2:15: Unsuitable value; agent.workspace is not a path: ~ cannot be expanded, since the environment variable HOME is not set to a path.
    workspace = "~/w"`
	if err == nil || cmp.Diff(want, err.Error()) != "" {
		t.Errorf("problems (-want +got):\n%s", cmp.Diff(want, err.Error()))
	}
	if _, err := config.Load(write(t, "state_dir = \"s\"\nagent {\n  workspace = \"w\"\n}\n"), nothing); err != nil {
		t.Errorf("with both paths given: %v", err)
	}
}

func TestDisabledPluginIsNotLookedAt(t *testing.T) {
	t.Parallel()
	c := load(t, `
plugin "p" {
  enabled = env("ON", "false")
  source  = 5
  nonsense {
    a = env("MISSING")
  }
  queue {
    mode = "steer"
  }
  config {
    token = env("MISSING")
  }
}
`, nil)
	if p := c.Plugin("p"); p == nil || p.Enabled || p.Source != "" {
		t.Errorf("plugin %+v", p)
	}
	if diff := cmp.Diff(c.Settings, c.For("p")); diff != "" {
		t.Errorf("settings (-top +channel):\n%s", diff)
	}
}

func TestFileFunction(t *testing.T) {
	t.Parallel()
	path := write(t, `agent { system_prompt = file("text") }`)
	text := filepath.Join(filepath.Dir(path), "text")
	for name, tt := range map[string]struct{ content, want string }{
		"a text of 1 MiB":      {strings.Repeat("x", 1<<20), ""},
		"one byte more":        {strings.Repeat("x", 1<<20+1), "it is larger than 1024 KiB"},
		"what is not text":     {"\xff\xfe", "it is not UTF-8 text"},
		"a character U+0000":   {"a\x00b", "agent.system_prompt must not hold the character U+0000"},
		"what looks like HCL":  {`${env("X")}`, ""},
		"an empty text":        {"", ""},
		"text with a line end": {"a\nb\n", ""},
	} {
		if err := os.WriteFile(text, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(path, variables(nil))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want == "" && c.Agent.SystemPrompt != tt.content:
			t.Errorf("%s: got %q", name, c.Agent.SystemPrompt)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %s", name, err, tt.want)
		}
	}
}

// The argument enabled is read before the rest of its block, but told of once.
func TestBadEnabledIsToldOnce(t *testing.T) {
	t.Parallel()
	path := write(t, "plugin \"p\" {\n  enabled = 5\n}\n")
	_, err := config.Load(path, variables(nil))
	if want := path + ":2:13: Unsuitable value; plugin.enabled must be true or false."; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
