package permission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// A memory flush writes to the memory without asking, and to nothing else.
// Behaviour: ask-background.
func TestRemembers(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secrets.md")
	for path, text := range map[string]string{outside: "x", workspace + "/other.md": "x", workspace + "/MEMORY.md": "x"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	linked := t.TempDir()
	for at, to := range map[string]string{workspace + "/memory/soft.md": outside, linked + "/memory": filepath.Dir(outside), linked + "/MEMORY.md": outside} {
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(workspace+"/other.md", workspace+"/memory/hard.md"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, workspace, tool, path string
		origin                      domain.Origin
		want                        bool
	}{
		{"a day", workspace, "Write", workspace + "/memory/2024-03-15.md", domain.OriginFlush, true},
		{"a change of it", workspace, "Edit", workspace + "/memory/2024-03-15.md", domain.OriginFlush, true},
		{"a relative path", workspace, "Edit", "memory/2024-03-15.md", domain.OriginFlush, false},
		{"what stays", workspace, "Edit", workspace + "/MEMORY.md", domain.OriginFlush, true},
		{"where no folder is", filepath.Join(workspace, "none"), "Write", workspace + "/none/memory/a.md", domain.OriginFlush, true},
		{"another tool", workspace, "Bash", workspace + "/MEMORY.md", domain.OriginFlush, false},
		{"another turn", workspace, "Write", workspace + "/MEMORY.md", "", false},
		{"a heartbeat", workspace, "Write", workspace + "/MEMORY.md", domain.OriginHeartbeat, false},
		{"another file", workspace, "Write", workspace + "/AGENTS.md", domain.OriginFlush, false},
		{"another kind", workspace, "Write", workspace + "/memory/run.sh", domain.OriginFlush, false},
		{"a hidden file", workspace, "Write", workspace + "/memory/.md", domain.OriginFlush, false},
		{"a folder below", workspace, "Write", workspace + "/memory/a/b.md", domain.OriginFlush, false},
		{"a way out", workspace, "Write", workspace + "/memory/../other.md", domain.OriginFlush, false},
		{"a way through a link", workspace, "Write", workspace + "/link/../MEMORY.md", domain.OriginFlush, false},
		{"outside", workspace, "Write", outside, domain.OriginFlush, false},
		{"a link", workspace, "Write", workspace + "/memory/soft.md", domain.OriginFlush, false},
		{"a hard link", workspace, "Edit", workspace + "/memory/hard.md", domain.OriginFlush, false},
		{"a linked folder", linked, "Write", linked + "/memory/a.md", domain.OriginFlush, false},
		{"a linked file", linked, "Write", linked + "/MEMORY.md", domain.OriginFlush, false},
		{"the folder itself", workspace, "Write", workspace + "/memory", domain.OriginFlush, false},
		{"nothing", workspace, "Write", "", domain.OriginFlush, false},
	} {
		input, err := json.Marshal(map[string]string{"file_path": test.path, "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if got := remembers(test.workspace, test.origin, agent.Question{Tool: test.tool, Input: input}); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
	twice := agent.Question{Tool: "Write", Input: json.RawMessage(`{"file_path":"` + workspace + `/MEMORY.md","file_path":"` + outside + `"}`)}
	reaches := agent.Question{Tool: "Write", Input: json.RawMessage(`{"file_path":"` + workspace + `/MEMORY.md"}`), Outside: outside}
	if remembers(workspace, domain.OriginFlush, twice) || remembers(workspace, domain.OriginFlush, reaches) {
		t.Error("a path that cannot be trusted is written without asking")
	}
}
