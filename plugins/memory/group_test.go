package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// in returns a caller in a session of a group.
func in(session, user string, authority chat.Authority) chat.Caller {
	c := group("x", user, authority)
	c.Session = session
	return c
}

// everything returns all that the plugin shows a caller who asks for something.
func (p *plugin) everything(caller chat.Caller, about string, paths ...string) string {
	p.t.Helper()
	added, err := p.BeforeAgentStart(sdk.AgentStart{TurnID: "1", Caller: caller, Prompt: about, TakesConversation: true})
	if err != nil {
		p.t.Fatal(err)
	}
	all := added.Conversation + added.Prepend + p.tool(caller, "search", fmt.Sprintf(`{"query":%q,"limit":20}`, about)).Text
	for _, path := range paths {
		all += p.tool(caller, "get", fmt.Sprintf(`{"path":%q}`, path)).Text
	}
	return all
}

// A group with a memory of its own finds its own notes and nothing else, whoever asks, even its owner; no other session finds them.
// Behaviour: memory-groups.
func TestGroupsHaveMemoriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"groups": "own", "memory_file": 8000, "open_to": []string{"all"}})
	p.write("MEMORY.md", "# Boiler\n\nThe owner's boiler is serviced by Huber.\n")
	p.write("memory/2026-02-09.md", "The owner's boiler was serviced in October.\n")
	p.tell("c:anna", 1, "Where is the boiler of the owner?", "It is the owner's boiler in the attic.")
	kitchen, thread, cellar := "c:group:kitchen", "c:group:kitchen:thread:5", "c:group:cellar"
	for session, text := range map[string]string{kitchen: "The kitchen's boiler is red.", cellar: "The cellar's boiler is blue. The password: xK9#mQ2$vL7p"} {
		if got := p.tool(in(session, "bob", chat.Other), "note", fmt.Sprintf(`{"text":%q}`, text)); got.Failed {
			t.Fatalf("a note is refused: %s", got.Text)
		}
	}
	var paths []string
	err := filepath.WalkDir(p.workspace, func(path string, entry os.DirEntry, err error) error {
		if info, _ := entry.Info(); err == nil && strings.Contains(path, "groups") && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(p.workspace, path)
			paths = append(paths, name)
		}
		return err
	})
	if err != nil || len(paths) != 4 {
		t.Fatalf("the files are %q, %v", paths, err)
	}
	const owners, kitchens, cellars = "owner's boiler", "kitchen's boiler", "cellar's boiler"
	for name, test := range map[string]struct {
		caller chat.Caller
		finds  string
	}{
		"the owner":                     {anna, owners},
		"a member":                      {in(kitchen, "bob", chat.Other), kitchens},
		"the owner in the group":        {in(kitchen, "anna", chat.Owner), kitchens},
		"a thread of the group":         {in(thread, "bob", chat.Other), kitchens},
		"another group":                 {in(cellar, "bob", chat.Other), cellars},
		"a group without notes":         {in("c:group:attic", "bob", chat.Other), ""},
		"a key that only looks like it": {in("c:group", "bob", chat.Other), ""},
	} {
		got := p.everything(test.caller, "boiler", paths...)
		for _, text := range []string{owners, kitchens, cellars} {
			if strings.Contains(got, text) != (text == test.finds) {
				t.Errorf("%s: it should find %q only, and reads\n%s", name, test.finds, got)
			}
		}
		if strings.Contains(got, "xK9#mQ2$vL7p") {
			t.Errorf("%s reads a password", name)
		}
	}

	// What is there when the setting is gone belongs to no one.
	p.restart(map[string]any{"open_to": []string{"all"}})
	if got := p.everything(anna, "boiler"); strings.Contains(got, kitchens) || !strings.Contains(got, owners) {
		t.Errorf("without the setting the owner finds\n%s", got)
	}
	if slices.ContainsFunc(p.Tools(), func(tool chat.ToolSpec) bool { return tool.Name == "note" }) {
		t.Error("there are notes without the setting")
	}
}

// Behaviour: memory-groups.
func TestNotesOfGroups(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"groups": "own"})
	member := in("c:group:kitchen", "bob", chat.Other)
	for text, want := range map[string]string{
		"": "1 to 2000 bytes", " \n\u202e": "1 to 2000 bytes", strings.Repeat("x", maxNote+1): "1 to 2000 bytes",
	} {
		if got := p.tool(member, "note", fmt.Sprintf(`{"text":%q}`, text)); !got.Failed || !strings.Contains(got.Text, want) {
			t.Errorf("%.20q is answered %q", text, got.Text)
		}
	}
	if got := p.tool(anna, "note", `{"text":"The boiler is red."}`); !got.Failed || got.Text != errNoGroup.Error() {
		t.Errorf("a note in a direct chat: %+v", got)
	}
	if got := p.tool(direct("bob", chat.Authorised), "note", `{"text":"The boiler is red."}`); !got.Failed || got.Text != errNotOpen.Error() {
		t.Errorf("a note of another person: %+v", got)
	}
	folder, _ := groupFolder(member.Session)
	path := filepath.Join(p.workspace, folder, time.Now().Format(time.DateOnly)+".md")
	p.tool(member, "note", `{"text":"One\n# two\u0007"}`)
	p.tool(member, "note", `{"text":"three"}`)
	if got, err := os.ReadFile(path); string(got) != "- One # two\n- three\n" {
		t.Errorf("the notes are %q, %v", got, err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", maxNotes-5)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.tool(member, "note", `{"text":"four"}`); !got.Failed || got.Text != errFull.Error() {
		t.Errorf("a note too many: %+v", got)
	}
}

// Behaviour: memory-groups.
func TestLinksLeadToNoOtherMemory(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(p *plugin, folder string) error{
		"a file": func(p *plugin, folder string) error {
			return os.Symlink("../../2026-02-09.md", filepath.Join(p.workspace, folder, "linked.md"))
		},
		"the folder": func(p *plugin, folder string) error {
			if err := os.Remove(filepath.Join(p.workspace, folder)); err != nil {
				return err
			}
			return os.Symlink("..", filepath.Join(p.workspace, folder))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, map[string]any{"groups": "own"})
			p.write("memory/2026-02-09.md", "The owner's boiler was serviced in October.\n")
			member := in("c:group:kitchen", "bob", chat.Other)
			folder, _ := groupFolder(member.Session)
			if err := os.MkdirAll(filepath.Join(p.workspace, folder), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := link(p, folder); err != nil {
				t.Fatal(err)
			}
			if got := p.everything(member, "boiler October", folder+"/linked.md", folder+"/2026-02-09.md", "memory/2026-02-09.md", "MEMORY.md"); strings.Contains(got, "October") {
				t.Errorf("the group reads\n%s", got)
			}
			if name == "the folder" {
				if got := p.tool(member, "note", `{"text":"The boiler is red."}`); !got.Failed {
					t.Errorf("a note is written through a link: %+v", got)
				}
			}
		})
	}
}

func TestFoldersOfGroups(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, session := range []string{
		"c:group:a", "c:group:A", "c:group:a b", "c:group:a-b", "c:group:..", "c:group:%2e%2e", "c:group:/", "d:group:a", "c:group:thread", "c-d:group:e", "c:group:d-e",
		"c:group:" + strings.Repeat("x", 300), "c:group:" + strings.Repeat("x", 301),
	} {
		folder, ok := groupFolder(session)
		if other := seen[folder]; !ok || other != "" || !filepath.IsLocal(folder) || len(filepath.Base(folder)) > 100 || strings.Count(folder, "/") != 2 {
			t.Errorf("%s has the folder %q, as %q; %t", session, folder, other, ok)
		}
		seen[folder] = session
		if of, ok := groupFolder(session + ":thread:5"); !ok || of != folder {
			t.Errorf("a thread of %s has the folder %q", session, of)
		}
	}
	for _, session := range []string{"", "main", "c:anna", "c:group", "peer:group:a", "c:anna:thread:5", "c:x:a", "c:group:a:b", "c:group:a:other:5", "c:group:a:thread:5:6"} {
		if folder, ok := groupFolder(session); ok {
			t.Errorf("%q has the folder %q", session, folder)
		}
	}
}
