package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// plugin is a plugin under test, over the wire, with a workspace and a state folder of its own.
type plugin struct {
	*sdktest.Harness
	t         *testing.T
	workspace string
	state     string
}

// start starts the plugin with a config next to its workspace.
func start(t *testing.T, config map[string]any) *plugin {
	t.Helper()
	p := &plugin{t: t, workspace: t.TempDir(), state: t.TempDir()}
	p.restart(config)
	return p
}

// restart ends the plugin, if it runs, and starts it again with the same folders.
func (p *plugin) restart(config map[string]any) {
	p.t.Helper()
	if p.Harness != nil {
		p.Shutdown()
	}
	p.Harness = sdktest.New(p.t, component(p.state))
	p.Workspace = p.workspace
	all := map[string]any{"memory_file": 0} // most tests are about what a prompt recalls
	maps.Copy(all, config)
	p.Configure(all)
}

// component is that of main, but with a state folder that outlives the plugin, and a clock of its own.
func component(state string) sdk.Component {
	return sdk.Service(func(ctx context.Context, env sdk.Env, c config) (*agents, error) {
		env.StateDir = state
		return open(ctx, env, c, time.Now)
	})
}

// write writes a file of the workspace.
func (p *plugin) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// ask returns what the plugin adds to a caller's prompt.
func (p *plugin) ask(caller chat.Caller, prompt string) string {
	p.t.Helper()
	added, err := p.BeforeAgentStart(sdk.AgentStart{TurnID: "1", Caller: caller, Prompt: prompt})
	if err != nil {
		p.t.Fatalf("the hook fails: %v", err)
	}
	return added.Prepend
}

// tell appends an exchange and enough others behind it for it not to be fresh any more.
func (p *plugin) tell(session string, first int64, question, answer string) {
	p.t.Helper()
	p.tellAgent(mainAgent, session, first, question, answer)
}

// tellAgent is tell for a session of an agent.
func (p *plugin) tellAgent(agent, session string, first int64, question, answer string) {
	p.t.Helper()
	at := time.Date(2026, time.March, 3, 12, 0, 0, 0, time.Local)
	entries := []chat.TranscriptEntry{
		{ID: first, Role: chat.User, Text: question, At: at},
		{ID: first + 1, Role: chat.Assistant, Text: answer, At: at},
	}
	for i := range int64(freshExchanges) {
		entries = append(entries, chat.TranscriptEntry{ID: first + 2 + i, Role: chat.User, Text: fmt.Sprintf("filler number %d", i), At: at})
	}
	if err := p.TranscriptAppended(sdk.TranscriptAppended{Agent: agent, Session: session, Entries: entries}); err != nil {
		p.t.Fatal(err)
	}
}

// direct is a direct chat on the channel "c".
func direct(user string, authority chat.Authority) chat.Caller {
	return chat.Caller{
		Session: "c:" + user, Address: chat.Address{Channel: "c", Chat: chat.ID(user)}, Kind: chat.Direct,
		Sender: chat.Sender{ID: chat.UserID(user)}, Authority: authority,
	}
}

// group is a group on the channel "c".
func group(id, user string, authority chat.Authority) chat.Caller {
	return chat.Caller{
		Session: "c:group:" + id, Address: chat.Address{Channel: "c", Chat: chat.ID(id)}, Kind: chat.Group,
		Sender: chat.Sender{ID: chat.UserID(user)}, Authority: authority,
	}
}

var anna = direct("anna", chat.Owner)

// Behaviour: memory-recall.
func TestAnOwnerIsRemindedInADirectChatOnly(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "# Home\n\n## Boiler\nThe boiler is serviced by Huber in October.\n")
	p.write("memory/2026-03-01.md", "# Pets\nThe vet of the cat\nis Dr. Pichler.\n")
	const boiler = "From memory (may be out of date):\n- MEMORY.md › Home › Boiler: The boiler is serviced by Huber in October."
	if got := p.ask(anna, "who services the boiler?"); got != boiler {
		t.Errorf("an owner gets %q, want %q", got, boiler)
	}
	const vet = "From memory (may be out of date):\n- memory/2026-03-01.md › Pets: The vet of the cat is Dr. Pichler."
	if got := p.ask(anna, "cat vet"); got != vet {
		t.Errorf("an owner gets %q, want %q", got, vet)
	}
	for name, c := range map[string]chat.Caller{
		"another person":      direct("ben", chat.Other),
		"an authorised one":   direct("cleo", chat.Authorised),
		"an owner in a group": group("g", "anna", chat.Owner),
		"someone in a group":  group("g", "ben", chat.Other),
		"nobody": {
			Session: "c:x", Address: chat.Address{Channel: "c", Chat: "x"}, Kind: chat.Direct,
			Sender: chat.Sender{ID: "x"}, Authority: chat.Other,
		},
	} {
		if got := p.ask(c, "who services the boiler?"); got != "" {
			t.Errorf("%s gets %q", name, got)
		}
	}
	if got := p.ask(anna, "hello"); got != "" {
		t.Errorf("hello recalls %q", got)
	}
}

func TestTheBlockIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"max_bytes": 500, "max_passages": 3})
	for i := range 6 {
		// Passages that are not nearly the same.
		p.write(fmt.Sprintf("memory/note%d.md", i), fmt.Sprintf("# Note %d\nzebra %s\n", i, strings.Repeat(fmt.Sprintf("w%da w%db w%dc ", i, i, i), 10)))
	}
	got := p.ask(anna, "zebra")
	if lines := strings.Count(got, "\n- "); lines != 3 || len(got) > 500 {
		t.Errorf("%d passages in %d bytes: %q", lines, len(got), got)
	}
}

func TestTurnsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "The zebra is called Zora.\n")
	var turns sync.WaitGroup
	for i := range 8 {
		turns.Go(func() {
			caller := direct(fmt.Sprintf("owner%d", i), chat.Owner)
			added, err := p.BeforeAgentStart(sdk.AgentStart{TurnID: fmt.Sprint(i), Caller: caller, Prompt: "what is the zebra called?"})
			if err != nil || !strings.Contains(added.Prepend, "Zora") {
				t.Errorf("turn %d gets %q, %v", i, added.Prepend, err)
			}
			err = p.TranscriptAppended(sdk.TranscriptAppended{Session: caller.Session, Entries: []chat.TranscriptEntry{
				{ID: int64(i + 1), Role: chat.User, Text: "a zebra again", At: time.Now()},
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	turns.Wait()
}

func TestAnotherWorkspaceThanTheAgents(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"workspace": t.TempDir()})
	p.write("MEMORY.md", "The zebra is called Zora.\n")
	if got := p.ask(anna, "what is the zebra called?"); got != "" {
		t.Errorf("the agent's workspace is read: %q", got)
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	older := sdktest.New(t, component(t.TempDir()))
	if diagnostics, err := older.TryConfigure(map[string]any{}); err != nil || len(diagnostics) != 1 || diagnostics[0].Path != "workspace" {
		t.Errorf("without any workspace: %v, %v", diagnostics, err)
	}
	for want, config := range map[string]map[string]any{
		"workspace":    {"workspace": "relative"},
		"memory_file":  {"workspace": "/w", "memory_file": 100},
		"max_passages": {"workspace": "/w", "max_passages": 0},
		"max_bytes":    {"workspace": "/w", "max_bytes": 100},
		"open_to":      {"workspace": "/w", "open_to": []string{""}},
		"same_person":  {"workspace": "/w", "same_person": []string{"anna"}},
	} {
		h := sdktest.New(t, component(t.TempDir()))
		diagnostics, err := h.TryConfigure(config)
		if err != nil || len(diagnostics) != 1 || diagnostics[0].Path != want {
			t.Errorf("%v: %v, %v", config, diagnostics, err)
		}
	}
}
