package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// with returns the caller as one of an agent with a workspace.
func with(agent, workspace string, c chat.Caller) chat.Caller {
	c.Agent, c.Workspace = agent, workspace
	if agent != mainAgent {
		c.Session = "agent:" + agent + ":" + c.Session
	}
	return c
}

// staff are agents with a workspace each, that of main included.
func (p *plugin) staff(agents ...string) map[string]string {
	all := map[string]string{mainAgent: p.workspace}
	for _, agent := range agents {
		all[agent] = p.t.TempDir()
	}
	return all
}

// indexes returns the agents other than main with an index.
func (p *plugin) indexes() (agents []string) {
	p.t.Helper()
	paths, err := filepath.Glob(filepath.Join(p.state, agentsFolder, "*", "index.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range paths {
		agents = append(agents, filepath.Base(filepath.Dir(path)))
	}
	return agents
}

// sources are where an agent may know a secret from.
var sources = []string{"file", "day", "talk", "past", "group"}

// secret is the word that an agent knows from a source.
func secret(agent, source string) string { return "zz" + agent + source + "zz" }

// Every agent is asked the same in the same chats, and knows what it alone was told: in its files, in the conversation, in another
// conversation of the same person, and in the group.
// Behaviour: memory-agents.
func TestNoAgentKnowsWhatAnotherWasTold(t *testing.T) {
	t.Parallel()
	config := map[string]any{"groups": "own", "memory_file": 8000, "same_person": []string{"c:anna", "d:anna"}, "open_to": []string{"all"}, "max_passages": 20}
	p := start(t, config)
	staff := p.staff("server", "app", "web")
	staff["web"] = staff["app"] // two agents may share their files
	elsewhere := direct("anna", chat.Owner)
	elsewhere.Session, elsewhere.Address.Channel = "d:anna", "d"
	kitchen := in("c:group:kitchen", "bob", chat.Other)
	agents := slices.Sorted(maps.Keys(staff))
	for i, agent := range agents {
		dir := staff[agent]
		p.workspace = dir
		owner := agent
		if agent == "web" {
			owner = "app"
		}
		p.write("MEMORY.md", fmt.Sprintf("# Boiler\n\nThe boiler in the cellar is called %s.\n", secret(owner, "file")))
		p.write("memory/2026-02-09.md", fmt.Sprintf("# Service\n\nThe boiler was serviced by %s in October.\n", secret(owner, "day")))
		p.ask(with(agent, dir, anna), "hello")
		p.ask(with(agent, dir, elsewhere), "hello")
		first := int64(1000 * i)
		p.tellAgent(agent, with(agent, dir, anna).Session, first+1, "Who has painted the boiler?", "It was "+secret(agent, "talk")+" with a brush.")
		p.tellAgent(agent, with(agent, dir, elsewhere).Session, first+100, "Who has sold the boiler?", "A shop of "+secret(agent, "past")+" downtown.")
		if agent == "web" {
			continue // the group's folder is a file of the workspace, too
		}
		note := fmt.Sprintf(`{"text":"The boiler of the kitchen is by %s."}`, secret(agent, "group"))
		if got := p.tool(with(agent, dir, kitchen), "note", note); got.Failed {
			t.Fatalf("%s notes nothing: %s", agent, got.Text)
		}
	}
	p.workspace = staff[mainAgent]
	paths := []string{"MEMORY.md", "memory/2026-02-09.md", "../MEMORY.md"}
	for _, dir := range staff {
		paths = append(paths, filepath.Join(dir, "MEMORY.md"))
	}
	check := func(when string) {
		for _, agent := range agents {
			dir := staff[agent]
			files := agent
			if agent == "web" {
				files = "app"
			}
			for name, test := range map[string]struct {
				caller chat.Caller
				knows  []string
			}{
				"the owner":     {anna, []string{secret(files, "file"), secret(files, "day"), secret(agent, "talk"), secret(agent, "past")}},
				"the group":     {kitchen, []string{secret(files, "group")}},
				"somebody else": {direct("carl", chat.Other), []string{secret(files, "file"), secret(files, "day")}},
			} {
				caller := with(agent, dir, test.caller)
				got := p.everything(caller, "boiler", paths...)
				for _, other := range agents {
					for _, source := range sources {
						word := secret(other, source)
						got += p.tool(caller, "search", fmt.Sprintf(`{"query":%q}`, word)).Text
						if knows := strings.Contains(got, word); knows != slices.Contains(test.knows, word) {
							t.Errorf("%s: %s with %s: knows %s: %v", when, name, agent, word, knows)
						}
					}
				}
			}
		}
	}
	check("at first")
	p.restart(config)
	check("after a restart")
	if got := p.indexes(); !slices.Equal(got, []string{"app", "server", "web"}) {
		t.Errorf("there are indexes of %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(p.state, "index.db")); err != nil || bytes.Contains(data, []byte("zzserver")) {
		t.Errorf("main's index has what another agent knows, %v", err)
	}
}

// What may be recalled for whom is the same for each agent, by the uses of its own sessions.
// Behaviour: memory-agents.
func TestEachAgentKnowsWhoUsesItsSessions(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"open_to": []string{"c:group:g", "agent:app"}})
	staff := p.staff("server", "app")
	for _, dir := range staff {
		p.workspace = dir
		p.write("MEMORY.md", "The zebra is called Zora.\n")
	}
	for name, test := range map[string]struct {
		caller chat.Caller
		agents []string // that are reminded
	}{
		"an owner":             {anna, []string{"app", "main", "server"}},
		"somebody else":        {direct("ben", chat.Other), []string{"app"}},
		"a group of open_to":   {group("g", "ben", chat.Other), []string{"app", "main"}},
		"an owner, in a group": {group("h", "anna", chat.Owner), []string{"app"}},
	} {
		var reminded []string
		for _, agent := range slices.Sorted(maps.Keys(staff)) {
			if strings.Contains(p.ask(with(agent, staff[agent], test.caller), "the zebra"), "Zora") {
				reminded = append(reminded, agent)
			}
		}
		if !slices.Equal(reminded, test.agents) {
			t.Errorf("%s is reminded by %q, want %q", name, reminded, test.agents)
		}
	}
}

// An index is opened when its agent is first heard of, by an entry or by a caller, and not before. Without a workspace there is
// nothing to read.
func TestIndexesAreOpenedWhenTheyAreNeeded(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	dir := t.TempDir()
	server := with("server", dir, anna)
	p.ask(anna, "the zebra")
	p.ask(with(mainAgent, t.TempDir(), anna), "the zebra") // the folder is that of Init, or the config's
	if got := p.indexes(); len(got) > 0 {
		t.Errorf("without another agent there are indexes of %q", got)
	}
	p.tellAgent("server", server.Session, 1, "What is the zebra called?", "It is called Zora.")
	if got := p.ask(server, "the zebra"); !strings.Contains(got, "Zora") {
		t.Errorf("what was said before a caller came: %q", got)
	}
	if _, err := p.BeforeAgentStart(sdk.AgentStart{TurnID: "1", Caller: with("gone", "", anna), Prompt: "the zebra"}); err == nil {
		t.Error("an agent without a workspace is reminded")
	}
	if got := p.tool(with("gone", "", anna), "search", `{"query":"zebra"}`); !got.Failed || got.Text != errBroken.Error() {
		t.Errorf("an agent without a workspace finds %+v", got)
	}
	if got := p.indexes(); !slices.Equal(got, []string{"server"}) {
		t.Errorf("there are indexes of %q", got)
	}
	if info, err := os.Stat(filepath.Join(p.state, agentsFolder, "server", "index.db")); err != nil || info.Mode() != 0o600 {
		t.Errorf("the index is %v, %v", info, err)
	}
}

// The config's workspace is that of main. The other agents have theirs.
func TestTheConfigsWorkspaceIsMains(t *testing.T) {
	t.Parallel()
	own, dir := t.TempDir(), t.TempDir()
	p := start(t, map[string]any{"workspace": own})
	for workspace, name := range map[string]string{own: "Zora", p.workspace: "Zita", dir: "Zoe"} {
		p.workspace = workspace
		p.write("MEMORY.md", "The zebra is called "+name+".\n")
	}
	if got := p.ask(with(mainAgent, dir, anna), "the zebra"); !strings.Contains(got, "Zora") {
		t.Errorf("main knows %q", got)
	}
	if got := p.ask(with("server", dir, anna), "the zebra"); !strings.Contains(got, "Zoe") {
		t.Errorf("server knows %q", got)
	}
}

// An agent's conversations from before are read when its index is first opened, and into no other index.
// Behaviour: memory-older, memory-agents.
func TestOlderConversationsOfAgents(t *testing.T) {
	t.Parallel()
	p := &plugin{t: t, workspace: t.TempDir(), state: t.TempDir()}
	read := make(chan struct{}, 2)
	p.Harness = sdktest.New(t, sdk.Service(func(ctx context.Context, env sdk.Env, c config) (*agents, error) {
		env.StateDir, env.Transcripts = p.state, telling{env.Transcripts, read}
		return open(ctx, env, c, time.Now)
	}))
	server := with("server", t.TempDir(), anna)
	for i, agent := range []string{"main", "server", "gone"} {
		caller := with(agent, "/", anna)
		p.Host.AddTranscriptsOf(agent, caller.Session,
			chat.TranscriptEntry{ID: int64(10*i + 1), Role: chat.User, Text: "Remember that the zebra is " + secret(agent, "past"), At: today})
		for _, shared := range []string{"main", "peer:family"} {
			caller.Session = shared
			p.Host.AddTranscriptsOf(agent, with(agent, "/", caller).Session,
				chat.TranscriptEntry{ID: int64(10*i + 2), Role: chat.User, Text: "Remember that the zebra is shared", At: today})
		}
		for n := range int64(freshExchanges) {
			p.Host.AddTranscriptsOf(agent, with(agent, "/", anna).Session, chat.TranscriptEntry{ID: int64(10*i+3) + n, Role: chat.User, Text: "filler", At: today})
		}
	}
	p.Configure(map[string]any{"workspace": p.workspace, "max_passages": 20})
	<-read
	p.ask(server, "hello")
	<-read
	for agent, caller := range map[string]chat.Caller{"main": anna, "server": server} {
		got := p.ask(caller, "what about the zebra?")
		if !strings.Contains(got, secret(agent, "past")) || strings.Count(got, "zz") != 2 || strings.Contains(got, "shared") {
			t.Errorf("%s is reminded of %q", agent, got)
		}
	}
}

// telling sends when all was read.
type telling struct {
	sdk.Transcripts

	read chan<- struct{}
}

func (e telling) After(ctx context.Context, after int64, limit int) ([]sdk.SessionEntry, error) {
	page, err := e.Transcripts.After(ctx, after, limit)
	if err == nil && len(page) == 0 {
		// What was read before is stored by now.
		e.read <- struct{}{}
	}
	return page, err
}

// An index of all agents, as the plugin had before, keeps what is main's, and who has used its sessions.
// Behaviour: memory-agents.
func TestAnIndexOfAllAgentsBecomesMains(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	server := with("server", t.TempDir(), anna)
	older := server
	older.Agent, older.Workspace = "", "" // a host that does not tell
	p.write("MEMORY.md", "The zebra's cousin is called Zita.\n")
	p.ask(anna, "hello")
	p.ask(older, "hello")
	p.tell(anna.Session, 1, "What is the zebra called?", "It is called Zora.")
	p.tellAgent("", server.Session, 100, "What is the zebra's word?", "It is zzwordzz.")
	ben := direct("ben", chat.Owner)
	p.ask(ben, "hello")
	ben.Authority = chat.Other
	if got := p.ask(anna, "the zebra"); !strings.Contains(got, "zzwordzz") {
		t.Fatalf("before, an owner is reminded of %q", got)
	}
	p.Shutdown()
	path := filepath.Join(p.state, "index.db")
	execute(t, path, fmt.Sprintf("PRAGMA user_version = %d", allAgents))
	p.restart(nil)
	got := p.ask(anna, "the zebra word")
	if !strings.Contains(got, "Zora") || !strings.Contains(got, "Zita") || strings.Contains(got, "zzwordzz") {
		t.Errorf("after, an owner is reminded of %q", got)
	}
	if got := p.ask(server, "the zebra word"); got != "" {
		t.Errorf("the other agent knows %q", got)
	}
	p.Shutdown()
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte("zzwordzz")) || !bytes.Contains(data, []byte("Zora")) {
		t.Errorf("the index has the wrong conversations, %v", err)
	}
	p.restart(nil)
	if got := p.ask(anna, "the zebra"); !strings.Contains(got, "Zora") {
		t.Errorf("after one more start, an owner is reminded of %q", got)
	}
}

// With sessions = false, conversations are removed of all agents, even of those that are not heard of.
func TestConversationsOfAllAgentsAreRemoved(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	server := with("server", t.TempDir(), anna)
	p.ask(server, "hello")
	p.tellAgent("server", server.Session, 1, "What is the zebra called?", "It is called Zora.")
	if got := p.ask(server, "the zebra"); !strings.Contains(got, "Zora") {
		t.Fatalf("got %q", got)
	}
	p.restart(map[string]any{"sessions": false})
	p.restart(nil)
	if got := p.ask(server, "the zebra"); got != "" {
		t.Errorf("with sessions = false there was kept %q", got)
	}
}

// What is no agent's, or is broken, in the folder of the agents does not keep the plugin from starting.
func TestAStrayEntryStopsNoOtherAgent(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	server := with("server", t.TempDir(), anna)
	p.ask(server, "hello")
	p.tellAgent("server", server.Session, 1, "What is the zebra called?", "It is called Zora.")
	folder := filepath.Join(p.state, agentsFolder)
	for _, name := range []string{"broken/index.db", "Not a label"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".DS_Store", "notes"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.restart(map[string]any{"sessions": false})
	p.ask(anna, "hello")
	broken := sdk.AgentStart{TurnID: "1", Caller: with("broken", t.TempDir(), anna), Prompt: "hello"}
	if _, err := p.BeforeAgentStart(broken); err == nil {
		t.Error("an agent with a broken index is reminded")
	}
	if entries, err := os.ReadDir(filepath.Join(folder, "Not a label")); err != nil || len(entries) > 0 {
		t.Errorf("a folder that is no agent's has %v, %v", entries, err)
	}
	p.restart(nil)
	if got := p.ask(server, "the zebra"); got != "" {
		t.Errorf("with sessions = false there was kept %q", got)
	}
}

// A call may outlast the time that a shutdown has for it.
func TestNoIndexIsOpenedAfterStop(t *testing.T) {
	t.Parallel()
	env := sdk.Env{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	a, err := open(t.Context(), env, config{Workspace: t.TempDir(), MaxPassages: 5, MaxBytes: 6000, Sessions: true}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := with("server", t.TempDir(), anna)
	if _, err := a.BeforeAgentStart(t.Context(), sdk.AgentStart{TurnID: "1", Caller: server, Prompt: "hello"}); !errors.Is(err, errStopped) {
		t.Errorf("after Stop, a turn gets the error %v", err)
	}
	// SQLite removes this file when the last connection to a database is closed.
	if _, err := os.Stat(filepath.Join(env.StateDir, agentsFolder, "server", "index.db-wal")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Stop, an index is open: %v", err)
	}
}

func TestTurnsOfAgentsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	var turns sync.WaitGroup
	for i := range 8 {
		agent := fmt.Sprintf("agent%d", i/2)
		caller := with(agent, t.TempDir(), anna)
		turns.Go(func() {
			p.tellAgent(agent, caller.Session, int64(100*i+1), fmt.Sprintf("What is zebra %d called?", i), "It is Zora.")
			added, err := p.BeforeAgentStart(sdk.AgentStart{TurnID: fmt.Sprint(i), Caller: caller, Prompt: "what is the zebra called?"})
			if err != nil || !strings.Contains(added.Prepend, "Zora") {
				t.Errorf("turn %d gets %q, %v", i, added.Prepend, err)
			}
			p.Status()
		})
	}
	turns.Wait()
	if got := p.indexes(); len(got) != 4 {
		t.Errorf("there are indexes of %q", got)
	}
}
