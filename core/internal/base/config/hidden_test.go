package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Arguments of programs may be secrets. No error shows them, whatever is wrong in or next to them.
func TestArgumentsOfProgramsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hush-4711"
	for _, text := range []string{
		`claude { args = ["--header", "hush-4711", "--model"] }`,
		`claude { args = ["--model=hush-4711"] }`,
		`claude { args = ["-rhush-4711"] }`,
		`claude { args = "hush-4711" }`,
		"claude {\n  args = [\n    \"hush-4711\", 5,\n    \"--verbose\"\n  ]\n}",
		"claude {\n  args = [\"hush-4711\"\n}",
		"claude {\n  args = [\"hush-4711]\n}",
		`claude { mcp "a" { headers = { A = "hush-4711", B = 5 } } }`,
		`claude { mcp "clawhost" { url = "https://hush-4711" } }`,
		`claude { mcp "a" { url = "hush-4711" } }`,
		"claude {\n  mcp \"a\" {\n    headers = { A = \"hush-4711\"\n",
		"claude {\n  mcp \"a\" {\n    url = \"https://a?hush-4711\n",
		`media { transcribe = ["sh", "hush-4711"] }`,
		`media { transcribe = "sh hush-4711" }`,
		`media { speak = ["clawhost-no-such-program", "hush-4711", "{out}"] }`,
		"media {\n  speak = [\"sh\", \"hush-4711\"\n}",
		`links { command = ["sh", "hush-4711"] }`,
		`links { command = ["sh", "hush-4711", nothing, "{url}"] }`,
		"links {\n  command = [\"sh\", \"hush-4711\"\n}",
	} {
		_, err := config.Load(write(t, text), variables(nil))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s\ngives the error %v", text, err)
		}
	}
}

// What is good, and of no use as it is, is reported separately.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const plain = "plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\n"
	tests := []struct{ text, want string }{
		{"plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}", ""},
		{"", " No plugin is enabled; Nobody can talk"},
		{"claude {\n  command = \"sh\"\n}\nplugin \"telegram\" {\n  enabled = false\n}", " No plugin is enabled; Nobody can talk"},
		{"plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\naccess {\n  owners = [\"telegram:1\", \"telegram:@ann\"]\n}", "6:27: Name instead of an id; access.owners: telegram:@ann is a name"},
		{"plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\nagent {\n  trust_project = true\n}", "6:19: Trusted workspace; agent.trust_project: whoever can write into the workspace can run programs"},
		{"plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\nadmin {\n  listen = \":8765\"\n  token = \"0123456789abcdef\"\n}", "6:12: Open to the network; admin.listen: other machines can reach"},
		{"plugin \"telegram\" {}\nclaude {\n  command = \"sh\"\n}\nadmin {\n  listen = \"[::1]:8765\"\n  token = \"0123456789abcdef\"\n}", ""},
		{"plugin \"matrix\" {}\nclaude {\n  command = \"sh\"\n}\naccess {\n  owners = [\"matrix:@ann:example.org\"]\n}", ""},
		{plain + "agent \"x\" {\n  workspace = \"~/none\"\n}", `6:15: Missing folder; agent.workspace of agent "x": /home/u/none does not exist.`},
		{plain + "agent {\n  workspace = \"/usr\"\n  worktree = \"thread\"\n}", "7:14: No repository; agent.worktree: /usr is in no git repository"},
		{plain + "agent {\n  worktree_setup = \"make\"\n}", `6:20: No effect; agent.worktree_setup: it has no effect without worktree = "thread".`},
		{plain + "agent {\n  folders = [\"~/none/*\"]\n}", "6:13: No folder; agent.folders: no folder fits now"},
		{plain + "route {\n  agent = \"main\"\n}\nroute {\n  kind = \"group\"\n  agent = \"main\"\n}", "8:1: Route without effect; route: an earlier route fits everything."},
		{plain + "route {\n  chat = \"telegram:1\"\n  agent = \"main\"\n}", `5:1: Route without effect; route: a chat is named by its id alone: write channel = "telegram" and chat = "1".`},
		{plain + "plugin \"matrix\" {}\nroute {\n  channel = \"matrix\"\n  user = \"telegram:1\"\n  agent = \"main\"\n}", "6:1: Route without effect; route: nobody writes on matrix as telegram:1."},
	}
	for _, test := range tests {
		var got []string
		for _, w := range load(t, test.text, nil).Warnings(false, false) {
			got = append(got, w[strings.Index(w, "config.hcl:")+len("config.hcl:"):])
		}
		all := strings.Join(got, "\n")
		if test.want == "" && all != "" || !strings.Contains(all, test.want) {
			t.Errorf("%s\nwarns %q, want %q", test.text, all, test.want)
		}
	}
}

func TestTheWarningOfSkippedQuestionsAsRoot(t *testing.T) {
	t.Parallel()
	const cage, none = `  env = { IS_SANDBOX = "1" }`, `  env = { IS_SANDBOX = "" }`
	for name, tt := range map[string]struct {
		mode, env  string
		root, demo bool
		warned     bool
	}{
		"root":                            {mode: "default", root: true},
		"no questions":                    {mode: "bypassPermissions"},
		"no questions as root":            {mode: "bypassPermissions", root: true, warned: true},
		"no questions as root of a demo":  {mode: "bypassPermissions", root: true, demo: true},
		"no questions as root of a cage":  {mode: "bypassPermissions", env: cage, root: true},
		"no questions as root of nothing": {mode: "bypassPermissions", env: none, root: true, warned: true},
	} {
		c := load(t, fmt.Sprintf("plugin \"telegram\" {}\nclaude {\n  permission_mode = %q\n%s\n}\n", tt.mode, tt.env), nil)
		got := c.Warnings(tt.root, tt.demo)
		const want = `config.hcl:3:21: Refused by Claude Code; claude.permission_mode is "bypassPermissions"`
		if tt.warned != (len(got) == 1 && strings.Contains(got[0], want)) || !tt.warned && len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
