//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A memory flush writes to the memory without asking, and asks before it writes anything else.
// Behaviour: ask-background, memory-flush.
func TestFlushWritesTheMemory(t *testing.T) {
	t.Parallel()
	writes := func(name string) messagesapi.Reply {
		return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "Write", Input: map[string]any{"file_path": name, "content": "tea"}}}}
	}
	steps, err := json.Marshal([]messagesapi.Reply{writes("memory/2024-03-15.md"), writes("other.md"), {Text: "NO_REPLY"}})
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := json.Marshal("Write it down. [[reply " + string(steps) + "]]")
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, setup{plugins: "memory_flush {\n  margin = 1000000\n  prompt = " + string(prompt) + "\n}\n"})
	h.start()
	owner := h.owner()
	owner.talks("hello")
	if asked := owner.next().Text; !strings.HasPrefix(asked, "Claude asks to use Write.") || !strings.Contains(asked, "other.md") {
		t.Errorf("the chat is asked %q", asked)
	}
	if text, err := os.ReadFile(filepath.Join(h.workspace, "memory", "2024-03-15.md")); err != nil || string(text) != "tea" {
		t.Errorf("the memory holds %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(h.workspace, "other.md")); err == nil {
		t.Error("another file was written without leave")
	}
	owner.say("/stop")
	h.stop()
}
