//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// peer is a claude that another process of the same user has started.
type peer struct {
	*testing.T
	stdin io.Writer
	lines *bufio.Scanner
}

// startPeer starts one that may write into other sessions.
func startPeer(t *testing.T, api *messagesapi.Server) *peer {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Getenv(cliVariable),
		"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--setting-sources", "", "--allowedTools", "SendMessage")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + api.URL(), "ANTHROPIC_API_KEY=" + key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	p := &peer{T: t, stdin: stdin, lines: bufio.NewScanner(stdout)}
	p.lines.Buffer(nil, 16<<20)
	return p
}

// turn has the peer take a message, and returns its socket.
func (p *peer) turn(text string) (socket string) {
	p.Helper()
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
	if err != nil {
		p.Fatal(err)
	}
	fmt.Fprintf(p.stdin, "%s\n", line)
	for p.lines.Scan() {
		var e struct {
			Type   string `json:"type"`
			Socket string `json:"messaging_socket_path"`
		}
		if err := json.Unmarshal(p.lines.Bytes(), &e); err != nil {
			p.Fatal(err)
		}
		if e.Socket != "" {
			socket = e.Socket
		}
		if e.Type == "result" {
			return socket
		}
	}
	p.Fatalf("the peer ended: %v", p.lines.Err())
	return ""
}

// writes has the peer write a text to a session, and returns what the CLI says of it.
func (p *peer) writes(api *messagesapi.Server, socket, text string) string {
	p.Helper()
	api.Enqueue(messagesapi.Reply{Tools: []messagesapi.ToolUse{{
		Name: "SendMessage", Input: map[string]any{"to": "uds:" + socket, "summary": "hello", "message": text},
	}}})
	p.turn("write to it")
	for _, request := range slices.Backward(api.Messages()) {
		if results := request.Prompt.ToolResults(); len(results) > 0 {
			return results[len(results)-1]
		}
	}
	return ""
}

// mentions counts the requests that hold a text, as the last that the model reads.
func mentions(api *messagesapi.Server, text string) int {
	n := 0
	for _, request := range api.Messages() {
		if strings.Contains(request.Prompt.LastUserText(), text) {
			n++
		}
	}
	return n
}

// No process of the user can write into a session of the host, whatever the user's settings say. The same attack reaches a
// claude that runs with the CLI's own settings.
// Behaviour: session-isolated.
func TestNothingWritesIntoASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	if err := os.MkdirAll(r.config.Env["CLAUDE_CONFIG_DIR"], 0o700); err != nil {
		t.Fatal(err)
	}
	accepts := []byte(`{"crossSessionInbound":"accept"}`)
	for _, file := range []string{filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "settings.json"), filepath.Join(r.config.Workspace, ".claude", "settings.json")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, accepts, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := r.pool()
	socket := r.tool(pool, `echo -n "$CLAUDE_CODE_MESSAGING_SOCKET"`)
	if info, err := os.Stat(socket); err != nil || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("the session's socket %q: %v", socket, err)
	}

	outside := messagesapi.New(messagesapi.Options{Key: key}) // apart, so that each request is known for whose it is
	t.Cleanup(outside.Close)
	attacker, victim := startPeer(t, outside), startPeer(t, outside)
	const reached, refused = "CANARY of an open session", "CANARY of a session of the host's"
	said := attacker.writes(outside, victim.turn("hello"), reached)
	victim.turn("go on") // behind the peer's turn
	if mentions(outside, reached) == 0 {
		t.Fatalf("the attack does not reach an open session, so it proves nothing: %s", said)
	}
	said = attacker.writes(outside, socket, refused)
	if got := r.run(pool, r.turn("still there?")).Text; !strings.HasSuffix(got, "still there?") {
		t.Errorf("the next turn brings %q", got)
	}
	for _, request := range r.api.Messages() {
		if strings.Contains(string(request.Body), refused) {
			t.Errorf("the session got what another one wrote; the CLI said to that one: %s", said)
		}
	}
	if n := r.processes.count(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
}

// tool makes the model run a command, and returns the result that the model reads.
func (r *rig) tool(pool *claude.Pool, command string) string {
	r.Helper()
	return r.use(pool, messagesapi.Bash(command))
}

// use makes the model use a tool, and returns the result that the model reads.
func (r *rig) use(pool *claude.Pool, call messagesapi.Reply) string {
	r.Helper()
	r.api.Enqueue(call, messagesapi.Reply{Text: "done"})
	r.run(pool, r.turn("do it"))
	messages := r.api.Messages()
	results := messages[len(messages)-1].Prompt.ToolResults()
	if len(results) == 0 {
		r.Fatal("the model got no result")
	}
	return results[len(results)-1]
}

// A session cannot write into others, look for them, begin turns by itself or change its folder, even if the model knows the
// names of the tools.
// Behaviour: session-isolated, turn-end.
func TestSessionReachesNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, func(c *runner) {
		c.AllowedTools = []string{"Bash", "SendMessage", "ListAgents", "ScheduleWakeup", "Monitor", "Workflow", "EnterWorktree"}
	})
	pool := r.pool()
	for name, input := range map[string]map[string]any{
		"SendMessage":    {"to": "uds:/tmp/cc-socks/1.sock", "summary": "hello", "message": "hello"},
		"ListAgents":     {},
		"ScheduleWakeup": {"delaySeconds": 60, "reason": "later", "prompt": "go on"},
		"Monitor":        {"description": "watch", "timeout_ms": 60000, "command": "sleep 1; echo tick"},
		"Workflow":       {"script": "export const meta = {name: 'w', description: 'w', phases: [{title: 'one'}]}\nreturn await agent('count')"},
		"EnterWorktree":  {"name": "elsewhere"},
	} {
		result := r.use(pool, messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: name, Input: input}}})
		if !strings.Contains(result, "No such tool available: "+name) {
			t.Errorf("%s: %q", name, result)
		}
	}
}

// knownTools are the tools of the CLI that were looked at: none of them reaches another session.
var knownTools = []string{
	"AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "NotebookEdit", "Read",
	"ReportFindings", "Skill", "Task", "TaskStop", "ToolSearch", "WebFetch", "WebSearch", "Write",
}

// A version of the CLI that offers a new tool, or opens a new way in, fails here: look at what it does before it joins the list.
// Behaviour: session-isolated.
func TestCLIOffersNoUnknownTool(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "said")
	r := newRig(t, messagesapi.Options{}, func(c *runner) {
		script := filepath.Join(t.TempDir(), "claude")
		if err := os.WriteFile(script, []byte(fmt.Sprintf("#!/bin/sh\n%q \"$@\" | tee -a %q\n", c.Command, said)), 0o700); err != nil {
			t.Fatal(err)
		}
		c.Command = script
	})
	pool := r.pool()
	pid := r.tool(pool, `echo -n "$CLAUDE_PID"`)
	var init struct {
		Tools  []string `json:"tools"`
		Socket string   `json:"messaging_socket_path"`
		Memory any      `json:"memory_paths"`
	}
	data, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"subtype":"init"`) {
			if err := json.Unmarshal([]byte(line), &init); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(init.Tools)
	if diff := cmp.Diff(knownTools, init.Tools); diff != "" {
		t.Errorf("the CLI offers other tools than those that are known (-known +offered):\n%s", diff)
	}
	if init.Memory != nil {
		t.Errorf("the CLI keeps a memory of its own: %v", init.Memory)
	}
	if diff := cmp.Diff([]string{init.Socket}, listening(t, pid)); diff != "" {
		t.Errorf("the CLI listens elsewhere than is known (-known +listens):\n%s", diff)
	}
}

// listening are the paths and addresses that a process takes connections at.
func listening(t *testing.T, pid string) []string {
	t.Helper()
	sockets := map[string]bool{}
	links, err := filepath.Glob("/proc/" + pid + "/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				sockets[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	// Of the lines of each table: the column of the state, its value for a listening socket, those of inode and address.
	tables := map[string]struct {
		state       int
		listens     string
		inode, name int
	}{
		"unix": {3, "00010000", 6, 7}, "tcp": {3, "0A", 9, 1}, "tcp6": {3, "0A", 9, 1}, "udp": {3, "07", 9, 1}, "udp6": {3, "07", 9, 1},
	}
	at := map[string]bool{}
	for name, table := range tables {
		data, err := os.ReadFile("/proc/" + pid + "/net/" + name)
		if err != nil {
			continue // this system has no such protocol
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) > max(table.inode, table.name) && fields[table.state] == table.listens && sockets[fields[table.inode]] {
				at[fields[table.name]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(at))
}

// One session's entries in the CLI's own memory are invisible to other sessions: a turn may write there without approval.
// Behaviour: cli-memory-off.
func TestMemoryOfTheCLIIsOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	const canary = "CANARY of another session"
	folder := filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "projects", strings.NewReplacer("/", "-", ".", "-").Replace(r.config.Workspace), "memory")
	r.run(pool, r.turn("hello"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "MEMORY.md"), []byte("- [note](note.md) "+canary), 0o600); err != nil {
		t.Fatal(err)
	}
	r.session, r.started = uuid.NewString(), false
	r.run(pool, r.turn("who are you?"))
	messages := r.api.Messages()
	if body := string(messages[len(messages)-1].Body); strings.Contains(body, canary) || strings.Contains(body, folder) {
		t.Error("a new session reads the CLI's own memory")
	}
}

// A process that resumes a session goes by the system prompt of its own time, not by that of the session's beginning.
func TestResumedSessionHasItsOwnPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	for _, instruction := range []string{"You are Claw the first.", "You are Claw the second."} {
		pool := r.pool()
		turn := r.turn("hello")
		turn.Profile = agent.Profile{SystemPrompt: instruction}
		r.run(pool, turn)
		messages := r.api.Messages()
		system := messages[len(messages)-1].Prompt.System
		if !slices.ContainsFunc(system, func(b messagesapi.Block) bool { return strings.Contains(b.Text, instruction) }) {
			t.Errorf("the model is not told %q", instruction)
		}
		r.close(pool)
	}
}

// A credential that claude gets by its environment is not in that of its tools; without one, the CLI looks for its login.
// Behaviour: credential-hidden.
func TestToolsHaveNoCredential(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	shown := r.tool(r.pool(), "env")
	if !strings.Contains(shown, "ANTHROPIC_BASE_URL=") {
		t.Fatal("the tool did not show its environment")
	}
	if strings.Contains(shown, key) {
		t.Error("the key is in the environment of the shell")
	}
	// A login, as "claude" keeps it.
	r = newRig(t, messagesapi.Options{}, func(c *runner) { delete(c.Env, "ANTHROPIC_API_KEY") })
	login := fmt.Sprintf(`{"claudeAiOauth":{"accessToken":%q,"refreshToken":"","expiresAt":4102444800000,"scopes":["user:inference"],"subscriptionType":"max"}}`, key)
	if err := os.MkdirAll(r.config.Env["CLAUDE_CONFIG_DIR"], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], ".credentials.json"), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	if shown = r.tool(r.pool(), "env"); !strings.Contains(shown, "ANTHROPIC_BASE_URL=") || strings.Contains(shown, key) {
		t.Error("with a login the tool does not show an environment without it")
	}
}
