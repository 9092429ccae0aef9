package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A further agent has what its block says, and what it leaves out as at the top level; what is a list is replaced as a whole.
func TestAgents(t *testing.T) {
	t.Parallel()
	c := load(t, `
agent {
  name          = "Ada"
  timezone      = "utc"
  system_prompt = "Be kind."
  project       = ["skills"]
}
claude {
  model           = "big"
  fallback_models = ["quick", "big"]
  aliases         = { big = "opus", quick = "haiku" }
  allowed_tools   = ["Read"]
  timeout         = "5m"
  env             = { A = "a", ANTHROPIC_API_KEY = "sk-1" }
  mcp "files" {
    command = ["files"]
  }
}
heartbeat {
  every = "1h"
}
agent "plain" {
  workspace = "~/plain"
}
agent "own" {
  description   = "of its own"
  workspace     = "~/own"
  open_to       = "everyone"
  skills        = ["deploy-*"]
  context_files = ["X.md"]
  claude {
    model         = "quick"
    allowed_tools = []
    api_keys      = ["sk-2"]
    mcp "web" {
      url = "https://example.com"
    }
  }
  heartbeat {
    every  = "2h"
    target = "telegram:1"
    model  = "quick"
  }
}
plugin "telegram" {}
`, nil)
	if len(c.AllAgents()) != 3 || c.AllAgents()[0] != &c.Agent || c.AgentNamed("main") != &c.Agent || c.AgentNamed("none") != nil {
		t.Fatalf("agents %v", c.AllAgents())
	}
	plain, own := c.AgentNamed("plain"), c.AgentNamed("own")
	if plain.Name != "plain" || plain.SystemPrompt != "" || plain.Project != nil || plain.Timezone != time.UTC || plain.OpenTo != config.OpenToOwners {
		t.Errorf("plain: %+v", plain)
	}
	if plain.Claude.Model != "opus" || plain.Claude.Timeout != 5*time.Minute || plain.Claude.Env["ANTHROPIC_API_KEY"] != "sk-1" || plain.Heartbeat.Every != 0 {
		t.Errorf("plain inherits %+v, %+v", plain.Claude, plain.Heartbeat)
	}
	if diff := cmp.Diff([]string{"haiku", "opus"}, plain.Claude.FallbackModels); diff != "" {
		t.Error(diff)
	}
	if _, files := plain.Claude.MCP["files"]; !files {
		t.Errorf("plain's servers: %v", plain.Claude.MCP)
	}
	if own.Claude.Model != "haiku" || len(own.Claude.AllowedTools) != 0 || own.Claude.Timeout != 5*time.Minute || own.Heartbeat.Every != 2*time.Hour || own.Heartbeat.Model != "quick" {
		t.Errorf("own: %+v, %+v", own.Claude, own.Heartbeat)
	}
	if _, files := own.Claude.MCP["files"]; files || len(own.Claude.MCP) != 1 {
		t.Errorf("own's servers: %v", own.Claude.MCP)
	}
	if diff := cmp.Diff(map[string]string{"A": "a"}, own.Claude.Env); diff != "" {
		t.Errorf("own keys leave other credentials: %s", diff)
	}
	if !own.Skills.Fit("deploy-app") || own.Skills.Fit("knit") || !plain.Skills.Fit("knit") {
		t.Errorf("skills %q, %q", own.Skills, plain.Skills)
	}
	if diff := cmp.Diff([]string{"/home/u/own/X.md"}, own.ContextFiles); diff != "" {
		t.Error(diff)
	}
	if c.Agent.Claude.Model != "opus" || len(c.Agent.Claude.Env) != 2 {
		t.Errorf("main: %+v", c.Agent.Claude)
	}
}

func TestBadAgents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"agent \"x\" {}": `1:11: Missing argument; The block agent needs the argument "workspace".`,
		"agent \"main\" {\n  workspace = \"~/x\"\n}": "1:7: Unsuitable label; The agent main is configured by",
		"agent \"a:b\" {\n  workspace = \"~/x\"\n}":  "1:7: Unsuitable label; An agent's label has",
		"agent {}\nagent {}":                         "2:1: Duplicate block; There is a block agent at",

		"agent \"x\" {\n  workspace = \"~/x\"\n}\nagent \"x\" {\n  workspace = \"~/y\"\n}": `4:1: Duplicate block; There is a block agent "x" at`,
		"agent \"x\" {\n  workspace = \"~/x\"\n  open_to = \"all\"\n}":                     "3:13: Unsuitable value; agent.open_to must be",

		"agent \"x\" {\n  workspace = \"~/x\"\n  claude {\n    max_processes = 2\n  }\n}":                      `4:5: Unknown argument; The block claude has no argument "max_processes". It applies to all agents: write it in`,
		"agent \"x\" {\n  workspace = \"~/x\"\n  claude {\n    permission_mode = \"never\"\n  }\n}":            "4:23: Unsuitable value; claude.permission_mode must be",
		"agent \"x\" {\n  workspace = \"~/clawhost/x\"\n}":                                                     `2:15: Unsuitable value; agent.workspace of agent "x" must neither contain the workspace of agent "main"`,
		"agent {\n  workspace = \"~/x/y\"\n}\nagent \"x\" {\n  workspace = \"~/x\"\n}":                         `5:15: Unsuitable value; agent.workspace of agent "x" must neither contain the workspace of agent "main"`,
		"agent \"x\" {\n  workspace = \"~\"\n}":                                                                `2:15: Unsuitable value; agent.workspace of agent "x" must not be or contain your home folder`,
		"agent \"x\" {\n  workspace = \"~/.local/state/clawhost/x\"\n}":                                        `agent.workspace of agent "x" must not be in state_dir`,
		"agent \"x\" {\n  workspace = \"~/x\"\n  skills = [\"a b\"]\n}":                                        "3:13: Unsuitable value; agent.skills must be names, in which * may stand for any characters",
		"route {\n  agent = \"y\"\n}\nagent \"x\" {\n  workspace = \"~/x\"\n}":                                 `2:11: Unknown agent; route.agent names "y", and no agent block has this label.`,
		"route {\n  kind = \"group\"\n}":                                                                       `Missing argument; The block route needs the argument "agent".`,
		"route {\n  agent = \"main\"\n  kind = \"topic\"\n}":                                                   "3:10: Unsuitable value; route.kind must be",
		"route {\n  agent = \"main\"\n  channel = \"irc\"\n}":                                                  `3:13: Unknown channel; route.channel names "irc"`,
		"access {\n  group \"-1\" {\n    agent = \"y\"\n  }\n}":                                                `3:13: Unknown agent; access.group.agent names "y"`,
		"agent \"x\" {\n  workspace = \"~/x\"\n  heartbeat {\n    every = \"1h\"\n    target = \"me\"\n  }\n}": `5:14: Unsuitable value; heartbeat.target must be "owner" or a person`,
	} {
		_, err := config.Load(write(t, text), variables(nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want %s", text, err, want)
		}
	}
}

// What belongs to another block is refused with where to write it.
func TestSettingsOfOtherBlocks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"agent {\n  claude {}\n}":        `2:3: Unknown block; The block agent has no block "claude". Write it at the top level.`,
		"agent {\n  budget {}\n}":        `2:3: Unknown block; The block agent has no block "budget". Write it at the top level. With per = "agent" it counts for each agent.`,
		"agent {\n  model = \"opus\"\n}": `2:3: Unknown argument; The block agent has no argument "model". Write it in the block claude.`,
	} {
		if _, err := config.Load(write(t, text), variables(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want %s", text, err, want)
		}
	}
}

func TestASharedWorkspaceIsMentioned(t *testing.T) {
	t.Parallel()
	c := load(t, "plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\nagent \"x\" {\n  workspace = \"~/clawhost\"\n}", nil)
	if got := c.Warnings(false, false); len(got) != 1 || !strings.Contains(got[0], `6:15: Shared workspace; The agents "main" and "x" have the same workspace`) {
		t.Errorf("warnings %q", got)
	}
}

func TestWarningsNameTheAgent(t *testing.T) {
	t.Parallel()
	c := load(t, "plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\nagent \"x\" {\n  workspace = \"~/x\"\n  claude {\n    permission_mode = \"bypassPermissions\"\n  }\n}", nil)
	if got := c.Warnings(true, false); len(got) != 2 || !strings.Contains(got[0], `6:15: Missing folder; agent.workspace of agent "x"`) || !strings.Contains(got[1], `claude.permission_mode of agent "x"`) {
		t.Errorf("warnings %q", got)
	}
}

func TestRouteFits(t *testing.T) {
	t.Parallel()
	topic := config.Place{
		Address: chat.Address{Channel: "telegram", Chat: "-100", Thread: "7"}, Origin: "-5", Kind: chat.Group, Person: []chat.UserID{"42", "@ann"},
	}
	direct := config.Place{Address: chat.Address{Channel: "telegram", Chat: "42"}, Origin: "42", Kind: chat.Direct, Person: []chat.UserID{"42"}}
	for _, test := range []struct {
		route         config.Route
		topic, direct bool
	}{
		{config.Route{}, true, true},
		{config.Route{Channel: "telegram"}, true, true},
		{config.Route{Channel: "discord"}, false, false},
		{config.Route{Kind: "group"}, true, false},
		{config.Route{Kind: "thread"}, true, false},
		{config.Route{Kind: "direct"}, false, true},
		{config.Route{Chat: "-100"}, true, false},
		{config.Route{Chat: "-5"}, true, false},
		{config.Route{Chat: "-100", Thread: "7"}, true, false},
		{config.Route{Chat: "-100", Thread: "8"}, false, false},
		{config.Route{User: "telegram:42"}, true, true},
		{config.Route{User: "telegram:@ann"}, true, false},
		{config.Route{User: "discord:42"}, false, false},
		{config.Route{Kind: "group", User: "telegram:42"}, true, false},
	} {
		if got := test.route.Fits(topic); got != test.topic {
			t.Errorf("%+v fits a topic: %v", test.route, got)
		}
		if got := test.route.Fits(direct); got != test.direct {
			t.Errorf("%+v fits a direct chat: %v", test.route, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		patterns config.Patterns
		name     string
		fits     bool
	}{
		{"", "any", true},
		{config.PatternsOf(), "any", false},
		{config.PatternsOf(), "", false},
		{config.PatternsOf("*"), "", true},
		{config.PatternsOf("Read"), "Read", true},
		{config.PatternsOf("Read"), "Reads", false},
		{config.PatternsOf("Read"), "read", false},
		{config.PatternsOf("x", "todo_*"), "todo_add", true},
		{config.PatternsOf("todo_*"), "a_todo_add", false},
		{config.PatternsOf("mcp__*__list_*"), "mcp__github__list_issues", true},
		{config.PatternsOf("mcp__*__list_*"), "mcp__list_issues", false},
		{config.PatternsOf("*a*a"), "a", false},
		{config.PatternsOf("a*a"), "a", false},
		{config.PatternsOf("a*a"), "aa", true},
		{config.PatternsOf("*b*"), "abc", true},
	} {
		if got := test.patterns.Fit(test.name); got != test.fits {
			t.Errorf("%q fits %q: %v", test.patterns, test.name, got)
		}
	}
}
