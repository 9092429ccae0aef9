package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
)

// What nothing else has is never removed.
// Behaviour: worktree-remove.
func TestWhatIsRemoved(t *testing.T) {
	t.Parallel()
	const commit = "git add -A && git commit -qm more"
	for name, test := range map[string]struct {
		lines string // in the worktree, with $REPO
		kept  bool
	}{
		"nothing":             {"true", false},
		"ignored":             {"mkdir build && touch build/x", false},
		"untracked":           {"touch new", true},
		"changed":             {"echo more >> README.md", true},
		"staged":              {"echo more >> README.md && git add -A", true},
		"renamed":             {"git mv README.md b", true},
		"committed":           {"touch new && " + commit, true},
		"merged":              {"touch new && " + commit + " && cd $REPO && git merge -q clawhost/the-kitchen-7", false},
		"squashed":            {"touch new && " + commit + " && cd $REPO && git merge -q --squash clawhost/the-kitchen-7 && git commit -qm squashed", false},
		"pushed":              {"touch new && " + commit + " && git init -q --bare ../../../other && git remote add other ../../../other && git push -q other HEAD:x", false},
		"in another branch":   {"git switch -qc mine && touch new && " + commit, false},
		"detached":            {"git switch -q --detach && touch new && " + commit, true},
		"in a merge":          {"git switch -qc mine && echo a > README.md && " + commit + " && git switch -q - && echo b > README.md && " + commit + " && ! git merge -q mine && git checkout -q HEAD README.md", true},
		"of a removed branch": {"git switch -q --detach && git branch -qD clawhost/the-kitchen-7", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := thread(7)
			place := r.enter(s)
			r.sh(place, "REPO="+r.repo+"; "+test.lines)
			before := r.sh(place, "find . -type f | sort")
			err := r.Remove(t.Context(), r.find(s))
			if !test.kept {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Lstat(place); err == nil {
					t.Error("it is still there")
				}
				return
			}
			if _, ok := errors.AsType[*worktree.KeptError](err); !ok {
				t.Errorf("error %v", err)
			}
			if after := r.sh(place, "find . -type f | sort"); after != before {
				t.Errorf("there is\n%s\nbefore\n%s", after, before)
			}
		})
	}
}

// Behaviour: worktree-restore.
func TestARemovedWorktreeIsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	s.Worktree, s.ClaudeStarted = place, true
	_, leave, err := r.Enter(t.Context(), s, "Hello!")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context(), r.find(s)); !errors.Is(err, worktree.ErrBusy) {
		t.Errorf("while a turn works in it: %v", err)
	}
	leave()
	r.sh(place, "echo mine > mine && git add -A && git commit -qm mine && cd "+r.repo+" && git merge -q --squash clawhost/the-kitchen-7 && git commit -qm squashed")
	head := r.sh(place, "git rev-parse HEAD")
	for range 2 {
		if err := r.Remove(t.Context(), r.find(s)); err != nil {
			t.Fatal(err)
		}
		if refs := r.sh(r.repo, "git for-each-ref refs/heads/clawhost refs/clawhost --format='%(refname) %(objectname)'"); refs != "refs/clawhost/worktrees/main/the-kitchen-7 "+head {
			t.Errorf("the refs are %s", refs)
		}
		list, err := r.List(t.Context(), "main")
		if err != nil || len(list) != 1 || list[0].RemovedAt.IsZero() {
			t.Errorf("the list is %+v, %v", list, err)
		}
		if again := r.enter(s); again != place { // the next message restores it
			t.Errorf("it works in %s", again)
		}
		reads(t, filepath.Join(place, "mine"), "mine\n")
		if refs := r.sh(r.repo, "git for-each-ref refs/heads/clawhost refs/clawhost --format='%(refname)'"); refs != "refs/heads/clawhost/the-kitchen-7" {
			t.Errorf("the refs are %s", refs)
		}
	}
}

// Behaviour: worktree-sweep.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	half, gone, old, lost, dirty := thread(1), thread(2), thread(3), thread(4), thread(5)
	for _, s := range []domain.Session{half, gone, old, lost, dirty} {
		r.enter(s)
	}
	keep := func(t domain.Worktree) { _ = r.store.KeepWorktree(r.Context(), t) }
	w := r.find(half) // killed before git removed it
	w.Snapshot = w.Start
	keep(w)
	w = r.find(gone) // killed after git had removed it
	w.Snapshot = w.Start
	keep(w)
	r.sh(r.repo, "git worktree remove "+w.Root)
	if err := r.Remove(t.Context(), r.find(old)); err != nil {
		t.Fatal(err)
	}
	w = r.find(old)
	w.RemovedAt = time.Now().Add(-31 * 24 * time.Hour)
	keep(w)
	r.write(filepath.Join(r.find(dirty).Root, "mine"), "mine")
	orphans := []string{r.find(lost).Root, r.find(dirty).Root}
	for _, root := range orphans { // as by a backup of the database
		_ = r.store.DeleteWorktree(t.Context(), root)
	}
	foreign := filepath.Join(filepath.Dir(orphans[0]), "foreign")
	r.sh(r.repo, "git worktree add -q "+foreign)

	r.Sweep(t.Context())
	if w := r.find(half); w.Snapshot != "" || !w.RemovedAt.IsZero() {
		t.Errorf("half removed: %+v", w)
	}
	if w := r.find(gone); w.RemovedAt.IsZero() {
		t.Errorf("removed: %+v", w)
	}
	if _, err := r.Find(t.Context(), old, ""); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("old: %v", err)
	}
	if refs := r.sh(r.repo, "git for-each-ref refs/clawhost"); refs != "" {
		t.Errorf("the refs are %s", refs)
	}
	for path, want := range map[string]bool{orphans[0]: false, orphans[1]: true, foreign: true, r.find(half).Root: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", path, err == nil, want)
		}
	}
}
