package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// draft is a config with a value of each kind.
func draft(dir, text string) Draft {
	return Draft{
		Path: filepath.Join(dir, "config.hcl"), Name: text, Workspace: "~/claw", StateDir: "/state", Command: "claude", Owners: []string{"webchat:local"},
		Networks: []Network{
			{Label: "webchat"},
			{Label: "telegram", Settings: []Setting{
				{Name: "token", Secret: true, Variable: "TELEGRAM_TOKEN", Value: "1:x"}, {Name: "api_endpoint", Value: text},
			}},
		},
		Memory: true,
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	const want = `# The config of clawhost, written by ` + "`clawhost init`" + `. docs/configuration.md explains every name.
# After a change: ` + "`clawhost reload`" + `.

state_dir = "/state" # database, media, state of plugins

agent {
  name      = "Claw"
  workspace = "~/claw" # claude's working folder
}

claude {
  command       = "claude" # uses its own login
  allowed_tools = []       # tools that run without asking, such as ["Read", "Bash(git *)"]
}

access {
  owners = ["webchat:local"] # may do everything; written channel:user
  dm     = "pairing"         # a stranger gets a code for ` + "`clawhost pairing approve CODE`" + `
  groups = "allowlist"       # only groups that have a block here, such as: group "-1001234567890" {}
}

plugin "webchat" {}

plugin "telegram" {
  config {
    token        = env("TELEGRAM_TOKEN") # in the file env beside this one
    api_endpoint = "Claw"
  }
}

plugin "memory" {
  # The agent is reminded of MEMORY.md, memory/*.md and earlier conversations, in its owner's direct chats only.
  read_transcripts = true # also those from before it was switched on
}
`
	if got := draft("/etc/clawhost", "Claw").Text(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// What a person enters is a value, whatever it contains.
func FuzzText(f *testing.F) {
	for _, text := range []string{"Claw", `a "b" \c`, "${HOME} %{ if true }", "$${x} $", "two\nlines\r\t", "$", "%", `\`, `"`, "a\\\"", "❤", "$\"{"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.TrimSpace(text) == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }) {
			t.Skip("no text that somebody can enter")
		}
		if strings.HasPrefix(text, "$") {
			text = "a" + text // the config refuses what looks like a shell's variable
		}
		d := draft(t.TempDir(), text)
		if err := os.WriteFile(d.Path, []byte(d.Text()), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(d.Path, func(name string) (string, bool) { return "/home/anna", name == "TELEGRAM_TOKEN" || name == "HOME" })
		if err != nil {
			t.Fatalf("%v\n%s", err, d.Text())
		}
		if c.Agent.Name != text && c.Agent.Name != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, c.Agent.Name)
		}
	})
}
