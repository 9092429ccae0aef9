package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Behaviour: worktree-merge.
func TestMerge(t *testing.T) {
	t.Parallel()
	const commit = "git add -A && git commit -qm more"
	for name, test := range map[string]struct {
		there, here string // lines in the worktree and in the repository
		commits     int
		err         string
		want        string // the files of the base
	}{
		"nothing":             {"true", "true", 0, "", ".gitignore README.md server/main.go"},
		"forward":             {"touch a && " + commit, "true", 1, "", ".gitignore README.md a server/main.go"},
		"both":                {"touch a && " + commit + " && touch b && " + commit, "touch c && " + commit, 2, "", ".gitignore README.md a b c server/main.go"},
		"base elsewhere":      {"touch a && " + commit, "touch c && " + commit + " && git switch -qc other", 1, "", ".gitignore README.md a c server/main.go"},
		"conflict":            {"echo a > README.md && " + commit, "echo b > README.md && " + commit, 1, "the same places of 1 files", ".gitignore README.md server/main.go"},
		"changes there":       {"touch a", "true", 0, "1 uncommitted", ".gitignore README.md server/main.go"},
		"changes of the base": {"echo a > README.md && " + commit, "echo b > README.md", 1, "README.md", ".gitignore README.md server/main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := thread(7)
			place := r.enter(s)
			r.sh(place, test.there)
			r.sh(r.repo, test.here)
			before, files := r.sh(r.repo, "git rev-parse main"), r.sh(r.repo, "git status --porcelain; cat README.md")
			done, err := r.Merge(t.Context(), r.find(s))
			if got := fmt.Sprint(err); test.err == "" && err != nil || !strings.Contains(got, test.err) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (done.Commits != test.commits || done.Base != "main") {
				t.Errorf("merged %+v", done)
			}
			if got := strings.Join(strings.Fields(r.sh(r.repo, "git ls-tree -r --name-only main")), " "); got != test.want {
				t.Errorf("the base has %s, want %s", got, test.want)
			}
			if err != nil && (r.sh(r.repo, "git rev-parse main") != before || r.sh(r.repo, "git status --porcelain; cat README.md") != files) {
				t.Error("the base has changed")
			}
			if name := r.sh(r.repo, "git branch --show-current"); name == "main" && err == nil && r.sh(r.repo, "git status --porcelain") != "" {
				t.Error("the files of the base are not those of its commit")
			}
		})
	}
}

// A lock of another git is waited for.
func TestALockOfAnotherGit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	r.sh(place, "touch new && git add -A && git commit -qm new")
	lock := filepath.Join(r.repo, ".git/index.lock")
	r.write(lock, "")
	unlocked := time.AfterFunc(700*time.Millisecond, func() { _ = os.Remove(lock) })
	defer unlocked.Stop()
	if done, err := r.Merge(t.Context(), r.find(s)); err != nil || done.Commits != 1 {
		t.Errorf("merged %+v, %v", done, err)
	}
}
