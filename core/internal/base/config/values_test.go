package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Behaviour: heartbeat.
func TestEveryValueArrives(t *testing.T) {
	t.Parallel()
	path := write(t, `
state_dir  = "~/state"
plugin_dir = "plugins"
reload = "watch"
log {
  level    = "debug"
  levels   = { telegram = "warn", turn = "error" }
  format   = "json"
  file     = "~/logs/clawhost.log"
  max_size = "2MB"
  keep     = 3
}
store {
  driver = "postgres"
  dsn    = env("A")
  lease  = "20s"
}
host {
  name   = "build-1"
  labels = ["gpu", "eu.1"]
}
agent {
  name          = "Ada"
  workspace     = "work"
  system_prompt = trimspace(file("persona.md"))
  context_files = ["AGENTS.md", "/etc/motd", "~/notes.md"]
  timezone      = "Europe/Berlin"
  project       = ["skills", "mcp"]
  runs_on       = ["gpu", "build-1"]
  trust_project = true
}
claude {
  command          = "./claude"
  model            = "sonnet"
  fallback_models  = ["haiku", "opus"]
  aliases          = { fast = "haiku", Grübel = "claude-opus-4-1" }
  effort           = "high"
  fast             = true
  permission_mode  = "acceptEdits"
  allowed_tools    = ["Read"]
  disallowed_tools = ["Bash(rm *)"]
  args             = ["--add-dir", "/x"]
  api_keys         = [env("A"), "sk-b"]
  env              = { A = env("A"), B = env("B", "b"), C = jsonencode([1]) }
  mode             = "oneshot"
  timeout          = "90s"
  ask_timeout      = "5m"
  tool_timeout     = "45s"
  retries          = 1
  max_processes    = env("PROCESSES")
  max_memory       = "3GB"
  spare            = 2
  recycle_at       = "0"
  park_after       = "1m"
  context_budget   = 200000
  mcp "files" {
    command = ["./files", "--root", "/x"]
    env     = { A = env("A") }
  }
  mcp "git_hub-2" {
    url     = "https://example.com/mcp?x=1"
    headers = { Authorization = "Bearer ${env("A")}" }
  }
}
session {
  scope          = "per-peer"
  identity_links = { anna = ["telegram:1", "webchat:local"] }
  idle_reset     = "60m"
  daily_reset    = "4:05"
  reset_triggers = []
  reset "group" {
    idle  = "120m"
    daily = ""
  }
  reset "thread" {
    idle  = "0"
    daily = "23:59"
  }
  reset "direct" {}
}
inbound {
  debounce = "2s"
  max_age  = "0"
}
queue {
  mode     = "collect"
  debounce = "1s"
  cap      = env("CAP")
  receipt  = false
  drop     = "old"
}
reply {
  prefix          = "> "
  text_limit      = 1000
  max_lines       = 17
  chunk_mode      = "newline"
  stream          = "block"
  human_delay     = "1s-1m"
  typing          = "message"
  typing_interval = "3s"
  reply_to        = "first"
  ack_reaction    = "👀"
  notify_after    = "45s"
  between_tools   = "keep"
  silent          = "never"
  visible         = "tool"
  verbose         = "full"
  reasoning       = "stream"
  usage           = "tokens"
  changes         = "off"
  block {
    min      = 100
    max      = 200
    idle     = "0"
    break_on = "sentence"
    flush_at = "message_end"
  }
  chat "group" {
    silent = true
  }
  chat "direct" {
    silent  = false
    visible = "answer"
  }
  chat "channel" {}
}
outbox {
  attempts = 3
  max_age  = "2h"
}
delivery {
  mark_repeats = false
}
limits {
  on_usage_limit = "wait"
}
retention {
  transcripts = "400d"
  media       = "36h"
  exports     = "0"
}
jobs {
  max_running = 7
  max_output  = "2GB"
  memory      = "1GB"
}
approvals {
  to             = ["approvers", "telegram:9", "owners"]
  escalate_after = "0"
}
budget {
  per     = "person"
  daily   = "$5"
  monthly = "$0.50"
}
budget {
  per   = "person"
  daily = "2000000 tokens"
}
budget {
  per     = "all"
  daily   = null
  monthly = "$999999.000001"
}
access {
  owners        = ["webchat:local"]
  dm            = "open"
  allow         = ["telegram:5"]
  commands_from = ["telegram:6", "*", "telegram:group:-100"]
  approvers = ["telegram:9"]
  groups        = "disabled"
  group "-100" {
    require_mention = env("MENTION")
    history_limit   = 0
  }
  group "-200" {
    history_limit = 500
  }
  require_mention  = null
  mention_patterns = ["@?claw(bot)?", "^hey"]
  history_limit    = 10
}
send {
  default = "deny"
  rule {
    channel    = "telegram"
    chat       = "group"
    key_prefix = "telegram:group:-100"
    policy     = "allow"
  }
  rule {
    channel    = ""
    chat       = ""
    key_prefix = ""
    policy     = "deny"
  }
  rule {
    policy = "allow"
  }
}
memory_flush {
  enabled = false
  margin  = 5000
  reserve = 40000
  prompt  = "Write it down."
}
heartbeat {
  every  = "30m"
  active = "22:00-06:30"
  target = "telegram:123"
  prompt = "Look around."
  model  = "fast"
  session = "own"
}
media {
  max_bytes  = "1 gb"
  max_stored = "9GB"
  max_inbound = "20GB"
  max_outbound = "10GB"
  transcribe = ["sh", "./write-down", "--in={file}", ""]
  speak      = ["./speak", "{out}"]
  timeout    = "2m"
  tts        = "inbound"
  store      = "folder"
  inline_images = false
}
links {
  command = ["./page", "{url}"]
  fetch   = false
  timeout = "5s"
}
commands {
  bash = true
}
admin {
  listen = "127.0.0.1:8765"
  token  = "0123456789abcdef"
  hosts  = ["Claw.example.com"]
}
telemetry {
  metrics = true
  traces  = "http://127.0.0.1:4318/v1/traces"
  sample  = 0.25
}
plugin "telegram" {
  enabled = true
  source  = "my-telegram"
  sha256  = "`+strings.Repeat("Ab", 32)+`"
  env     = { HTTPS_PROXY = env("HTTPS_PROXY", "") }
  grants  = ["webchat"]
  read_transcripts = true
  overrides = ["/Status", "export-session"]
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
	for _, program := range []string{"speak", "page"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := config.Load(path, variables(map[string]string{"A": "a", "PROCESSES": "2", "MENTION": "false", "CAP": "5"}))
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	mention, no, most := false, 0, 500
	allowed, answer := true, "answer"
	never, noClock, twoHours, late := time.Duration(0), config.Off, 2*time.Hour, config.Clock(23*60+59)
	want := &config.Config{
		Path:      path,
		StateDir:  "/home/u/state",
		PluginDir: dir + "/plugins",
		Reload:    config.Watch,
		Log:       config.Log{Level: "debug", Levels: map[string]string{"telegram": "warn", "turn": "error"}, Format: "json", File: "/home/u/logs/clawhost.log", MaxSize: 2 << 20, Keep: 3},
		Database:  config.Database{Driver: config.Postgres, DSN: "a", Lease: 20 * time.Second},
		Host:      config.Host{Name: "build-1", Labels: []string{"gpu", "eu.1"}},
		Agent: config.Agent{
			Label: "main", OpenTo: "owners", Worktree: "off", Skills: config.PatternsOf("*"), Name: "Ada", Workspace: dir + "/work", SystemPrompt: "Be kind.", Timezone: berlin,
			Project: []string{"skills", "mcp"}, TrustProject: true, RunsOn: []string{"gpu", "build-1"},
			ContextFiles: []string{dir + "/work/AGENTS.md", "/etc/motd", "/home/u/notes.md"},
			Heartbeat: config.Heartbeat{
				Every: 30 * time.Minute, From: 22 * 60, To: 6*60 + 30, Target: "telegram:123", Prompt: "Look around.", Model: "fast", Session: "own",
			},
			Claude: config.Claude{
				Command: dir + "/claude", Model: "sonnet", FallbackModels: []string{"haiku", "opus"}, Effort: "high",
				PermissionMode: "acceptEdits", AllowedTools: []string{"Read"}, DisallowedTools: []string{"Bash(rm *)"},
				Args: []string{"--add-dir", "/x"}, Env: map[string]string{"A": "a", "B": "b", "C": "[1]"},
				ConfigDir: "/home/u/.claude", APIKeys: []string{"a", "sk-b"},
				Aliases: map[string]string{"fast": "haiku", "Grübel": "claude-opus-4-1"},
				Fast:    true, Timeout: 90 * time.Second, Retries: 1, AskTimeout: 5 * time.Minute, ToolTimeout: 45 * time.Second, ContextBudget: 200_000,
				MCP: map[string]config.MCP{
					"files":     {Command: []string{dir + "/files", "--root", "/x"}, Env: map[string]string{"A": "a"}},
					"git_hub-2": {URL: "https://example.com/mcp?x=1", Headers: map[string]string{"Authorization": "Bearer a"}},
				},
			},
		},
		Processes: config.Processes{Mode: "oneshot", Max: 2, MaxMemory: 3 << 30, RecycleAt: 0, ParkAfter: time.Minute, Spare: 2},
		Outbox:    config.Outbox{Attempts: 3, MaxAge: 2 * time.Hour},
		Delivery:  config.Delivery{MarkRepeats: false},
		Limits:    config.Limits{OnUsageLimit: "wait"},
		Retention: config.Retention{Transcripts: 400 * 24 * time.Hour, Media: 36 * time.Hour, Exports: 0},
		Jobs:      config.Jobs{MaxRunning: 7, MaxOutput: 2 << 30, Memory: 1 << 30},
		Approvals: config.Approvals{To: []string{"approvers", "telegram:9", "owners"}},
		Budgets: []config.Budget{
			{Per: domain.PerPerson, Daily: domain.Amount{CostMicros: 5_000_000}, Monthly: domain.Amount{CostMicros: 500_000}},
			{Per: domain.PerPerson, Daily: domain.Amount{Tokens: 2_000_000}},
			{Per: domain.PerAll, Monthly: domain.Amount{CostMicros: 999_999_000_001}},
		},
		Send: config.Send{Default: "deny", Rules: []config.SendRule{
			{Channel: "telegram", Chat: "group", KeyPrefix: "telegram:group:-100", Policy: "allow"},
			{Policy: "deny"},
			{Policy: "allow"},
		}},
		MemoryFlush: config.MemoryFlush{Margin: 5000, Reserve: 40_000, Prompt: "Write it down."},
		Media: config.Media{
			MaxBytes: 1 << 30, MaxStored: 9 << 30, MaxPerChannel: 8 << 30, MaxInbound: 20 << 30, MaxOutbound: 10 << 30, Transcribe: []string{"sh", "./write-down", "--in={file}", ""}, Speak: []string{dir + "/speak", "{out}"},
			Timeout: 2 * time.Minute, TTS: "inbound", Store: "folder",
		},
		Links:     config.Links{Command: []string{dir + "/page", "{url}"}, Fetch: false, Timeout: 5 * time.Second},
		Commands:  config.Commands{Bash: true},
		Admin:     config.Admin{Listen: "127.0.0.1:8765", Token: "0123456789abcdef", Hosts: []string{"claw.example.com"}},
		Telemetry: config.Telemetry{Metrics: true, Traces: "http://127.0.0.1:4318/v1/traces", Sample: 0.25},
		Settings: config.Settings{
			Session: config.Session{
				Scope: "per-peer", IdentityLinks: map[string][]string{"anna": {"telegram:1", "webchat:local"}}, ResetTriggers: []string{},
				IdleReset: time.Hour, DailyReset: 4*60 + 5,
				Reset: map[string]config.Reset{
					"group":  {Idle: &twoHours, Daily: &noClock},
					"thread": {Idle: &never, Daily: &late},
					"direct": {},
				},
			},
			Inbound: config.Inbound{Debounce: 2 * time.Second},
			Queue:   config.Queue{Mode: "collect", Debounce: time.Second, Cap: 5, Drop: "old"},
			Reply: config.Reply{
				Prefix: "> ", TextLimit: 1000, MaxLines: 17, ChunkMode: "newline", Stream: "block",
				Block:      config.Block{Min: 100, Max: 200, BreakOn: "sentence", FlushAt: "message_end"},
				HumanDelay: config.Delay{Min: time.Second, Max: time.Minute},
				Typing:     "message", TypingInterval: 3 * time.Second, ReplyTo: "first", AckReaction: "👀", NotifyAfter: 45 * time.Second, BetweenTools: "keep", Silent: "never", Visible: "tool",
				Verbose: "full", Reasoning: "stream", Usage: "tokens", Changes: "off",
				Chat: map[string]config.ReplyIn{"group": {Silent: &allowed}, "direct": {Silent: &mention, Visible: &answer}, "channel": {}},
			},
			Access: config.Access{
				Owners: []string{"webchat:local"}, DM: "open", Allow: []string{"telegram:5"}, CommandsFrom: []string{"telegram:6", "*", "telegram:group:-100"}, Approvers: []string{"telegram:9"},
				Groups: "disabled", RequireMention: true, HistoryLimit: 10,
				Group:           map[string]config.Group{"-100": {RequireMention: &mention, HistoryLimit: &no}, "-200": {HistoryLimit: &most}},
				MentionPatterns: []*regexp.Regexp{regexp.MustCompile("(?i)@?claw(bot)?"), regexp.MustCompile("(?i)^hey")},
			},
		},
		Plugins: []*config.Plugin{
			{
				Label: "telegram", Enabled: true, Source: dir + "/plugins/my-telegram", SHA256: []byte(strings.Repeat("\xab", 32)),
				Env: map[string]string{"HTTPS_PROXY": ""}, Grants: []string{"webchat"}, ReadTranscripts: true, Overrides: []string{"status", "export_session"},
				Hook: config.Hook{Timeout: time.Second, OnError: "fail"},
			},
			{Label: "other", Enabled: true, Source: "/home/u/bin/other", Hook: config.Hook{Timeout: 5 * time.Second, OnError: "skip"}},
			{
				Label: "plain", Enabled: true, Source: dir + "/plugins/clawhost-plain",
				Hook: config.Hook{Timeout: 5 * time.Second, OnError: "skip"},
			},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Plugin{}, config.Config{}, config.Agent{}), asText[*time.Location](), asText[*regexp.Regexp]()); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

// asText compares values by what they print.
func asText[T fmt.Stringer]() cmp.Option {
	return cmp.Comparer(func(a, b T) bool { return a.String() == b.String() })
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
		Session: config.Session{Scope: "per-channel-peer", ResetTriggers: []string{"/new", "/reset"}, DailyReset: config.Off},
		Inbound: config.Inbound{Debounce: config.AutoDebounce, MaxAge: 24 * time.Hour},
		Queue:   config.Queue{Mode: "steer", Debounce: 500 * time.Millisecond, Cap: 20, Drop: "summarize", Receipt: true},
		Reply: config.Reply{
			ChunkMode: "length", Stream: "preview",
			Block:  config.Block{Min: 800, Max: 1200, Idle: time.Second, BreakOn: "paragraph", FlushAt: "text_end"},
			Typing: "thinking", TypingInterval: 6 * time.Second, ReplyTo: "off", NotifyAfter: 30 * time.Second, BetweenTools: "drop", Silent: "groups", Visible: "answer", Verbose: "off", Reasoning: "off", Usage: "off", Changes: "on",
		},
		Access: config.Access{DM: "pairing", Groups: "allowlist", RequireMention: true, HistoryLimit: 50},
	}
	if diff := cmp.Diff(want, got.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Send{Default: "allow"}, got.Send); diff != "" {
		t.Errorf("send (-want +got):\n%s", diff)
	}
	if m := got.MemoryFlush; !m.Enabled || m.Margin != 4000 || m.Reserve != 33_000 {
		t.Errorf("memory flush %+v", m)
	}
	h := got.Agent.Heartbeat
	for golden, prompt := range map[string]string{"flush_prompt.golden": got.MemoryFlush.Prompt, "heartbeat_prompt.golden": h.Prompt} {
		want, err := os.ReadFile(filepath.Join("testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), prompt+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
	h.Prompt = ""
	if diff := cmp.Diff(config.Heartbeat{From: 8 * 60, To: 22 * 60, Target: "owner", Session: "chat"}, h); diff != "" {
		t.Errorf("heartbeat (-want +got):\n%s", diff)
	}
}

// What is off at the top of the file is distinct from what is not there.
func TestOff(t *testing.T) {
	t.Parallel()
	c := load(t, `
session {
  idle_reset  = "0"
  daily_reset = ""
}
heartbeat {
  every  = "0"
  active = ""
}
send {
  rule {
    policy  = "deny"
    channel = null
  }
}
`, nil)
	if c.Session.IdleReset != 0 || c.Session.DailyReset != config.Off || c.Session.Reset != nil {
		t.Errorf("session %+v", c.Session)
	}
	if h := c.Agent.Heartbeat; h.Every != 0 || h.From != config.Off || h.To != config.Off {
		t.Errorf("heartbeat %+v", h)
	}
	if diff := cmp.Diff([]config.SendRule{{Policy: "deny"}}, c.Send.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestMentionPatternsIgnoreCase(t *testing.T) {
	t.Parallel()
	c := load(t, "access {\n  mention_patterns = [\"^claw|bot$\"]\n}\n", nil)
	for text, want := range map[string]bool{"CLAW, help": true, "Ask the Bot": true, "a claw there": false} {
		if got := c.Access.MentionPatterns[0].MatchString(text); got != want {
			t.Errorf("%q: mentioned %v, want %v", text, got, want)
		}
	}
}

func TestClockPrints(t *testing.T) {
	t.Parallel()
	for clock, want := range map[config.Clock]string{config.Off: "", 0: "00:00", 4*60 + 5: "04:05", 24*60 - 1: "23:59"} {
		if got := clock.String(); got != want {
			t.Errorf("Clock(%d) prints %q, want %q", int(clock), got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	c := load(t, "claude {\n  model = \"FAST\"\n  fallback_models = [\"opus\", \"deep\"]\n  aliases = { Fast = \"haiku\", deep = \"Fast\" }\n}\n", nil)
	if diff := cmp.Diff([]string{"haiku", "opus", "Fast"}, append([]string{c.Agent.Claude.Model}, c.Agent.Claude.FallbackModels...)); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"Fast": "haiku", "fast": "haiku", "FAST": "haiku",
		"deep": "Fast", // an alias's model is not looked up again
		"opus": "opus", "": "", "fas": "fas",
	} {
		if got := c.Agent.Claude.Resolve(name); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", name, got, want)
		}
	}
}

// The path of a model is read like every other one.
func TestTranscribeModel(t *testing.T) {
	t.Parallel()
	path := write(t, "media {\n  transcribe_model = \"model.pt\"\n}\n")
	model := filepath.Join(filepath.Dir(path), "model.pt")
	if err := os.WriteFile(model, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, variables(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.Media.TranscribeModel != model {
		t.Errorf("the model is %q, not %q", c.Media.TranscribeModel, model)
	}
}

// A machine without HOME needs the paths in the file, and the error says so.
func TestWithoutHome(t *testing.T) {
	t.Parallel()
	nothing := func(string) (string, bool) { return "", false }
	path := write(t, "agent {\n  workspace = \"~/w\"\n}\n")
	_, err := config.Load(path, nothing)
	want := path + `: Missing value; state_dir must be set, because its default is unknown: is HOME set?
` + path + `: Missing value; agent.workspace must be set, because its default is unknown: is HOME set?
` + path + `:2:15: Unsuitable value; agent.workspace is not a path: ~ cannot be expanded, because the environment variable HOME is not set to a path.
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
		"a character U+0000":   {"a\x00b", "agent.system_prompt must not contain the character U+0000"},
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

// The argument enabled is read before the rest of its block, but reported once.
func TestBadEnabledIsReportedOnce(t *testing.T) {
	t.Parallel()
	path := write(t, "plugin \"p\" {\n  enabled = 5\n}\n")
	_, err := config.Load(path, variables(nil))
	if want := path + ":2:13: Unsuitable value; plugin.enabled must be true or false."; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A workspace's AGENTS.md is shown unless the file says otherwise.
func TestContextFilesByDefault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"agent {\n  workspace = \"/work\"\n}\n":                          {"/work/AGENTS.md"},
		"agent {\n  workspace = \"/work\"\n  context_files = []\n}\n":    {},
		"agent {\n  workspace = \"/work\"\n  context_files = [\"X\"]\n}": {"/work/X"},
	} {
		if diff := cmp.Diff(want, load(t, "state_dir = \"/s\"\n"+text, nil).Agent.ContextFiles); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
