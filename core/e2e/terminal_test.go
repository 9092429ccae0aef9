//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// terminal is the real CLI in a pseudo-terminal.
type terminal struct {
	*rig
	cmd  *exec.Cmd
	tty  *os.File
	read sync.WaitGroup

	mu     sync.Mutex
	screen bytes.Buffer // all that it has shown
}

// opens opens a session of the rig in a terminal, once the CLI says that it has it.
func (r *rig) opens(args ...string) *terminal {
	r.Helper()
	settled, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5,
		"customApiKeyResponses": map[string]any{"approved": []string{key[max(0, len(key)-20):]}, "rejected": []string{}},
		"projects":              map[string]any{r.config.Workspace: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	path := filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], ".claude.json")
	if err == nil {
		err = os.WriteFile(path, settled, 0o600)
	}
	if err != nil {
		r.Fatal(err)
	}
	t := &terminal{rig: r, cmd: exec.Command(r.config.Command, args...)}
	t.cmd.Dir = r.config.Workspace
	t.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	for name, value := range r.config.Env {
		t.cmd.Env = append(t.cmd.Env, name+"="+value)
	}
	if t.tty, err = pty.StartWithSize(t.cmd, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		r.Fatal(err)
	}
	t.read.Go(func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := t.tty.Read(buffer)
			t.mu.Lock()
			t.screen.Write(buffer[:n])
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	r.Cleanup(func() {
		_ = t.cmd.Process.Kill()
		_ = t.cmd.Wait()
		_ = t.tty.Close()
		t.read.Wait()
	})
	t.until("the session is open", func() bool {
		return strings.Contains(t.announced(), `"entrypoint":"cli"`) && strings.Contains(t.announced(), r.session)
	})
	return t
}

// announced is what the processes of the CLI say that they have open.
func (t *terminal) announced() string {
	paths, _ := filepath.Glob(filepath.Join(t.config.Env["CLAUDE_CONFIG_DIR"], "sessions", "*.json"))
	var all strings.Builder
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		all.Write(data)
	}
	return all.String()
}

// until waits for a condition.
func (t *terminal) until(what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			t.mu.Lock()
			defer t.mu.Unlock()
			t.Fatalf("waited without success until %s; the terminal shows %q", what, t.screen.String()[max(0, t.screen.Len()-2000):])
		}
	}
}

// types types a line, once the terminal shows it.
func (t *terminal) types(text string) {
	t.Helper()
	words := strings.Fields(text) // between which the terminal moves the cursor
	if _, err := t.tty.WriteString(text); err != nil {
		t.Fatal(err)
	}
	t.until("the text is shown", func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return strings.Contains(t.screen.String(), words[len(words)-1])
	})
	if _, err := t.tty.WriteString("\r"); err != nil {
		t.Fatal(err)
	}
}

// says types a message and waits until it is answered and written down.
func (t *terminal) says(text, answer string) {
	t.Helper()
	t.api.Enqueue(messagesapi.Reply{Text: answer})
	t.types(text)
	t.until("the answer is in the transcript", func() bool { return strings.Contains(t.transcript(t.session), answer) })
}

// leaves ends the terminal in order.
func (t *terminal) leaves() {
	t.Helper()
	t.types("/exit")
	if err := t.cmd.Wait(); err != nil {
		t.Errorf("the terminal ended: %v", err)
	}
}

// A conversation goes from the chat to a terminal and back. While it is open there, the chat gets no answer.
// Behaviour: session-open, session-taken-back, session-handoff.
func TestATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.run(pool, r.turn("apricot"))
	if err := pool.Release(r.ctx, r.session); err != nil {
		t.Fatal(err)
	}
	desk := r.opens("--resume", r.session)
	var failure *agent.Failure
	if _, err := r.try(pool, r.turn("blueberry")); !errors.As(err, &failure) || failure.Class != agent.Opened {
		t.Fatalf("with the session open in a terminal: %v", err)
	}
	desk.says("cherry", "noted at the desk")
	r.remembers("apricot")
	desk.leaves()
	r.run(pool, r.turn("damson"))
	r.remembers("apricot")
	r.remembers("cherry")

	// Without a handoff, the process of the chat is idle meanwhile, and does not know.
	desk = r.opens("--resume", r.session)
	desk.says("elderberry", "noted again")
	_ = desk.cmd.Process.Kill()
	_ = desk.cmd.Wait()
	r.run(pool, r.turn("fig"))
	r.remembers("damson")
	r.remembers("elderberry")
	if all := r.transcript(r.session); strings.Contains(all, "blueberry") {
		t.Error("what was refused is in the transcript")
	}
}

// A chat continues a conversation that was begun in a terminal, and a copy of one that is open there.
// Behaviour: session-resume, session-fork.
func TestBegunInATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	if err := os.MkdirAll(r.config.Env["CLAUDE_CONFIG_DIR"], 0o700); err != nil {
		t.Fatal(err)
	}
	desk := r.opens("--session-id", r.session)
	desk.says("my number is 4711", "noted at the desk")
	pool, original := r.pool(), r.session
	r.session = uuid.NewString()
	copied := r.turn("in the copy")
	copied.ForkOf = original
	r.run(pool, copied)
	r.remembers("my number is 4711")
	r.session = original
	desk.leaves()
	r.started = true
	r.run(pool, r.turn("which one?"))
	r.remembers("my number is 4711")
}
