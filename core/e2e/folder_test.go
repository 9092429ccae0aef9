//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// reads is an answer that reads a file by the CLI's tool for it.
func reads(path string) messagesapi.Reply {
	return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "Read", Input: map[string]any{"file_path": path}}}}
}

// A tool that a group does not use is denied by the real CLI, even where it would not ask.
// Behaviour: group-settings.
func TestToolsOfAGroup(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, func(c *runner) { c.Env["IS_SANDBOX"] = "1" })
	pool := r.pool()
	if err := os.WriteFile(filepath.Join(r.config.Workspace, "a.txt"), []byte("the content"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.api.Enqueue(messagesapi.Bash("touch made"), reads(filepath.Join(r.config.Workspace, "a.txt")), messagesapi.Reply{Text: "done"})
	turn := r.turn("do it")
	turn.Profile.PermissionMode, turn.Profile.Only = "bypassPermissions", config.PatternsOf("Read")
	got := r.run(pool, turn)
	if got.Text != "done" || len(got.Tools) != 2 || !strings.Contains(got.Tools[0].Output, "Bash may not be used in this group") || !strings.Contains(got.Tools[1].Output, "the content") {
		t.Errorf("the turn brings %+v", got)
	}
	if _, err := os.Stat(filepath.Join(r.config.Workspace, "made")); err == nil {
		t.Error("the command ran")
	}
}

// Claude works in another folder, reads the workspace from there without a question, and has a conversation of its own in each.
// Behaviour: folder.
func TestFolders(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, home, other := r.pool(), r.config.Workspace, t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "MEMORY.md"), []byte("remember the milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(folder, session, text string) agent.Turn {
		turn := r.turn(text)
		turn.Folder, turn.Session = folder, session
		return turn
	}
	there := uuid.NewString()
	r.api.Enqueue(messagesapi.Reply{Text: "hello from home"})
	r.run(pool, in("", r.session, "apricot"))
	r.api.Enqueue(messagesapi.Bash("pwd"), reads(filepath.Join(home, "MEMORY.md")), messagesapi.Reply{Text: "done"})
	got, err := pool.Run(r.ctx, in(other, there, "blueberry"))
	if err != nil || got.Text != "done" || len(got.Tools) != 2 || !strings.Contains(got.Tools[0].Output, other) || !strings.Contains(got.Tools[1].Output, "remember the milk") {
		t.Errorf("in the other folder the turn brings %+v, %v", got, err)
	}
	again := in(other, there, "cherry")
	again.Started = true
	r.api.Enqueue(messagesapi.Bash("pwd"), messagesapi.Reply{Text: "done again"})
	r.close(pool)
	if got, err := r.pool().Run(r.ctx, again); err != nil || got.Text != "done again" || !strings.Contains(got.Tools[0].Output, other) {
		t.Errorf("after a restart the turn brings %+v, %v", got, err)
	}
	last := r.api.Messages()[len(r.api.Messages())-1].Prompt
	if texts := fmt.Sprint(last); !strings.Contains(texts, "blueberry") || strings.Contains(texts, "apricot") {
		t.Errorf("the conversation of the folder is %s", texts)
	}
}

// A thread's worktree begins with a copy of the conversation of the folder, keeps its own transcript, and writes into no other working
// tree.
// Behaviour: worktree, worktree-apart.
func TestAWorktree(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, func(c *runner) { c.Env["IS_SANDBOX"] = "1" })
	pool, home, parent := r.pool(), r.config.Workspace, r.session
	trees := filepath.Join(t.TempDir(), "trees")
	own, other := filepath.Join(trees, "own"), filepath.Join(trees, "other")
	for _, dir := range []string{own, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.run(pool, r.turn("my number is 4711"))
	before := r.transcript(parent)

	r.session, r.started = uuid.NewString(), false
	turn := r.turn("what is it?")
	turn.ForkOf, turn.Worktree = parent, own
	turn.Profile.PermissionMode = "bypassPermissions"
	turn.Profile.Apart = agent.Apart{Worktree: own, Main: home, Others: trees, Home: home}
	writes := func(path string) messagesapi.Reply {
		return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "Write", Input: map[string]any{"file_path": path, "content": "mine"}}}}
	}
	paths := []string{filepath.Join(own, "a"), filepath.Join(home, "memory", "a"), filepath.Join(home, "a"), filepath.Join(other, "a")}
	r.api.Enqueue(messagesapi.Bash("pwd"))
	for _, path := range paths {
		r.api.Enqueue(writes(path))
	}
	r.api.Enqueue(messagesapi.Reply{Text: "done"})
	got := r.run(pool, turn)
	r.remembers("my number is 4711")
	if got.Text != "done" || len(got.Tools) != 5 || !strings.Contains(got.Tools[0].Output, own) {
		t.Fatalf("the turn brings %+v", got)
	}
	for i, path := range paths {
		_, err := os.Stat(path)
		if denied := strings.Contains(got.Tools[i+1].Output, "another working tree"); denied != (i > 1) || denied == (err == nil) {
			t.Errorf("%s: %q, %v", path, got.Tools[i+1].Output, err)
		}
	}
	if after := r.transcript(parent); after != before {
		t.Errorf("the parent's transcript was changed to\n%s", after)
	}
	r.close(pool)
	pool = r.pool()
	turn.Again = true
	if got := r.run(pool, turn); !got.Recovered {
		t.Errorf("the repetition brings %+v", got)
	}
	turn = r.turn("and now?")
	turn.Worktree, turn.Started = own, true
	r.run(pool, turn)
	r.remembers("what is it?")
}
