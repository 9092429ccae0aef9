package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/chat"
)

// tool uses a tool of the plugin's.
func (p *plugin) tool(caller chat.Caller, name, arguments string) chat.ToolResult {
	p.t.Helper()
	result, err := p.CallTool(p.t.Context(), chat.ToolCall{Name: name, Arguments: json.RawMessage(arguments), TurnID: "1", Caller: caller})
	if err != nil {
		p.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return result
}

func TestToolsAreOffered(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	var names []string
	for _, tool := range p.Tools() {
		names = append(names, tool.Name)
	}
	if !cmp.Equal(names, []string{"search", "get"}) || !slices.Contains(p.Describe().Capabilities, "CAPABILITY_TOOLS") {
		t.Errorf("the tools are %v", names)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "# Home\n\n## Heating\n\nThe boiler is serviced by Huber, PIN 4471.\n")
	p.write("memory/2026-02-09.md", "The boiler was serviced in October.\n")
	owner := anna
	got := p.tool(owner, "search", `{"query":"When is the boiler serviced?"}`)
	if got.Failed || !strings.Contains(got.Text, "MEMORY.md › Home › Heating: The boiler is serviced by Huber, PIN 4471.") || !strings.Contains(got.Text, "memory/2026-02-09.md") {
		t.Errorf("an owner finds %+v", got)
	}
	if got := p.tool(owner, "search", `{"query":"When is the boiler serviced?","limit":1}`); strings.Count(got.Text, "\n- ") != 1 {
		t.Errorf("one passage is %q", got.Text)
	}
	if got := p.tool(owner, "search", `{"query":"zebra crossing"}`); got.Failed || !strings.HasPrefix(got.Text, "Nothing in the memory fits") {
		t.Errorf("nothing is %+v", got)
	}
}

// Behaviour: memory-tools.
func TestWhoMayUseTheTools(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"open_to": []string{"c:group:open"}})
	p.write("MEMORY.md", "The boiler is serviced by Huber.\nThe wifi password: xK9#mQ2$vL7p\n")
	plugin := direct("bob", chat.Owner)
	plugin.Sender.IsBot = true // a plugin's turn in another person's chat
	for name, test := range map[string]struct {
		caller       chat.Caller
		opens, hides bool
	}{
		"an owner":              {anna, true, false},
		"an owner in a group":   {group("closed", "anna", chat.Owner), false, false},
		"another person":        {direct("bob", chat.Authorised), false, false},
		"a plugin's turn there": {plugin, false, false},
		"an opened group":       {group("open", "carl", chat.Other), true, true},
	} {
		for tool, arguments := range map[string]string{"search": `{"query":"wifi password boiler Huber"}`, "get": `{"path":"MEMORY.md"}`} {
			got := p.tool(test.caller, tool, arguments)
			if got.Failed == test.opens || strings.Contains(got.Text, "Huber") != test.opens {
				t.Errorf("%s: %s gives %+v", name, tool, got)
			}
			if !test.opens && got.Text != errNotOpen.Error() {
				t.Errorf("%s: %s is refused with %q", name, tool, got.Text)
			}
			if secret := strings.Contains(got.Text, "xK9#mQ2$vL7p"); secret != (test.opens && !test.hides) {
				t.Errorf("%s: %s tells the password: %t", name, tool, secret)
			}
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "one\ntwo\n\nfour\n")
	p.write("memory/notes/deep.md", "deep")
	p.write("memory/empty.md", "")
	p.write("memory/long.md", strings.Repeat(strings.Repeat("é", 500)+"\n", 400))
	p.write("memory/line.md", strings.Repeat("é", 100_000))
	owner := anna
	for arguments, want := range map[string]string{
		`{"path":"MEMORY.md"}`:                       "MEMORY.md, lines 1 to 4 of 4:\none\ntwo\n\nfour",
		`{"path":"MEMORY.md","from":2,"lines":2}`:    "MEMORY.md, lines 2 to 3 of 4:\ntwo\n",
		`{"path":"MEMORY.md","from":-3,"lines":0}`:   "MEMORY.md, lines 1 to 1 of 4:\none",
		`{"path":"MEMORY.md","from":4,"lines":9999}`: "MEMORY.md, lines 4 to 4 of 4:\nfour",
		`{"path":"memory/notes/deep.md"}`:            "memory/notes/deep.md, lines 1 to 1 of 1:\ndeep",
		`{"path":"memory/empty.md"}`:                 "memory/empty.md, lines 1 to 1 of 1:\n",
	} {
		if got := p.tool(owner, "get", arguments); got.Failed || got.Text != want {
			t.Errorf("%s: %+v\nwant %q", arguments, got, want)
		}
	}
	if got := p.tool(owner, "get", `{"path":"MEMORY.md","from":5}`); !got.Failed || got.Text != "MEMORY.md has only 4 lines" {
		t.Errorf("beyond its end: %+v", got)
	}
	if got := p.tool(owner, "get", `{"path":"memory/long.md","lines":500}`); got.Failed || len(got.Text) > 50_000 || !strings.HasPrefix(got.Text, "memory/long.md, lines 1 to 47 of 400:") {
		t.Errorf("a long file: %d bytes, %.60q", len(got.Text), got.Text)
	}
	if got := p.tool(owner, "get", `{"path":"memory/line.md"}`); got.Failed || len(got.Text) > 50_000 || !strings.HasSuffix(got.Text, "…") {
		t.Errorf("a long line: %d bytes", len(got.Text))
	}
}

// Nothing but the memory is read, whatever path the model writes and whatever link lies there.
// Behaviour: memory-tools.
func TestGetStaysInside(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	const secret = "the secret"
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("secret.md", secret)
	p.write("memory/secret.txt", secret)
	p.write("memory/sub/x.md", "fine")
	for link, to := range map[string]string{
		"memory/out.md": outside, "memory/near.md": "../secret.md", "memory/folder": filepath.Dir(outside), "memory/up": "..", "MEMORY.md": "secret.md",
	} {
		if err := os.Symlink(to, filepath.Join(p.workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	owner := anna
	for _, name := range []string{
		"secret.md", "./secret.md", "memory/../secret.md", "memory/secret.txt", "memory/out.md", "memory/near.md", "memory/folder/secret.md",
		"memory/up/secret.md", "MEMORY.md", "memory", "memory/", "memory/sub", "", ".", "..", "/", outside, "../" + filepath.Base(p.workspace) + "/secret.md",
		"memory//sub/x.md", "memory/sub/../sub/x.md", "memory/none.md", "memory/\x00.md", strings.Repeat("x", 5000) + ".md",
	} {
		arguments, err := json.Marshal(map[string]string{"path": name})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.tool(owner, "get", string(arguments)); !got.Failed || strings.Contains(got.Text, secret) || strings.Contains(got.Text, p.workspace) {
			t.Errorf("%.80q is read: %+v", name, got)
		}
	}
	if got := p.tool(owner, "get", `{"path":"memory/sub/x.md"}`); got.Failed {
		t.Errorf("what is inside is refused: %+v", got)
	}
}
