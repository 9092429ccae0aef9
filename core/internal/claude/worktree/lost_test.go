package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/worktree"
)

// Behaviour: worktree-remove.
func TestChangesThatGitDoesNotShow(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"assumed to be unchanged":     "echo more >> README.md && git update-index --assume-unchanged README.md",
		"not of the working tree":     "echo more >> README.md && git update-index --skip-worktree README.md",
		"untracked by the config":     "touch new && git config status.showUntrackedFiles no",
		"a worktree where it ignores": "git worktree add -q build/mine && touch build/mine/new",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := thread(7)
			place := r.enter(s)
			r.sh(place, lines)
			err := r.Remove(t.Context(), r.find(s))
			if _, ok := errors.AsType[*worktree.KeptError](err); !ok {
				t.Errorf("error %v", err)
			}
			if _, err := os.Lstat(place); err != nil {
				t.Error(err)
			}
		})
	}
}

// Files that the worktree has not checked out are not lost.
// Behaviour: worktree-restore.
func TestASparseWorktreeIsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	r.sh(place, "git sparse-checkout set --no-cone /README.md && test ! -e server")
	if err := r.Remove(t.Context(), r.find(s)); err != nil {
		t.Fatal(err)
	}
	r.enter(s)
	reads(t, filepath.Join(place, "server/main.go"), "package main\n")
	if status := r.sh(place, "git status --porcelain; git log --oneline main.."); status != "" {
		t.Errorf("it has %s", status)
	}
}

// A merge overwrites nothing that git ignores in the base's working tree.
// Behaviour: worktree-merge.
func TestAMergeKeepsWhatGitIgnores(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	r.write("my.secret", "mine")
	r.sh(place, "echo other > my.secret && git add -f my.secret && git commit -qm more")
	if _, err := r.Merge(t.Context(), r.find(s)); err == nil || !strings.Contains(err.Error(), "my.secret") {
		t.Errorf("error %v", err)
	}
	reads(t, filepath.Join(r.repo, "my.secret"), "mine")
}

// The folder of the worktrees may have links of the agent's.
func TestTheFolderOfTheWorktreesHasALink(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Dir(r.repo)
	r.write(filepath.Join(dir, "mine"), "mine")
	r.sh(dir, "mkdir .worktrees && ln -s ../mine .worktrees/.gitignore")
	r.enter(thread(7))
	reads(t, filepath.Join(dir, "mine"), "mine")
}

// Other worktrees of the repository are not forgotten while their disk is away.
func TestOtherWorktreesAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sh(r.repo, "git worktree add -q --detach ../disk && mv ../disk ../away")
	place := r.enter(thread(7))
	r.sh(r.repo, "rm -rf "+place)
	r.enter(thread(7))
	r.sh(r.repo, "mv ../away ../disk && git -C ../disk status")
}
