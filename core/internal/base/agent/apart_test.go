package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Behaviour: worktree-apart.
func TestApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	main, others := filepath.Join(dir, "app"), filepath.Join(dir, ".worktrees/main")
	own, other := filepath.Join(others, "own"), filepath.Join(others, "other")
	for _, path := range []string{main, own, other, filepath.Join(main, "memory"), filepath.Join(dir, "elsewhere")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		filepath.Join(own, "to-main"): main, filepath.Join(own, "to-new"): "../../../app/new", filepath.Join(dir, "home"): dir,
		filepath.Join(own, "round"): "round", filepath.Join(own, "to-own"): ".",
		filepath.Join(own, "twice"): "to-new",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	a := agent.Apart{Worktree: own, Main: main, Others: others, Home: main}
	for path, want := range map[string]bool{
		own + "/a": true, own + "/new/deep/a": true, "a": true, own: true, own + "/to-own/a": true,
		dir + "/elsewhere/a": true, "/etc/passwd": true, // as the mode of permissions has it
		main + "/memory/a": true, main + "/MEMORY.md": true,
		main: false, main + "/a": false, main + "/memory/../a": false, "../../../app/a": false,
		other: false, other + "/new/a": false, others + "/a": false, own + "/../other/a": false, own + "-2/a": false,
		own + "/to-main/a": false, own + "/to-main/new/a": false, own + "/to-new": false, own + "/twice": false, dir + "/home/app/a": false,
	} {
		if got := a.Allows(path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
	_ = a.Allows(own + "/round/a") // ends
	if !(agent.Apart{}).Allows(main + "/a") {
		t.Error("without a worktree, something is forbidden")
	}
}
