package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
)

// A restore whose setup failed is tried again.
// Behaviour: worktree-restore.
func TestARestoreThatFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	if err := r.Remove(t.Context(), r.find(s)); err != nil {
		t.Fatal(err)
	}
	r.agent.WorktreeSetup = "test -e " + r.repo + "/good"
	for range 2 {
		_, _, err := r.Enter(t.Context(), s, "Hello!")
		if _, ok := errors.AsType[*worktree.SetupError](err); !ok {
			t.Errorf("error %v", err)
		}
	}
	r.write("good", "")
	if again := r.enter(s); again != place {
		t.Errorf("it works in %s", again)
	}
	reads(t, filepath.Join(place, "README.md"), "The app.\n")
}

// A removal that was killed while git deleted the files is undone, and so is one that git refuses.
// Behaviour: worktree-remove.
func TestARemovalThatWasKilled(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]string{"some": "README.md", "all of git's": ".git README.md", "nothing": ""} {
		for _, by := range []string{"sweep", "turn"} {
			t.Run(name+" "+by, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				s := thread(7)
				place := r.enter(s)
				r.sh(r.repo, "git worktree lock "+place)
				if err := r.Remove(t.Context(), r.find(s)); err == nil {
					t.Fatal("it was removed")
				}
				r.sh(place, "rm -f "+deleted)
				r.write(filepath.Join(place, "new"), "")
				if by == "sweep" {
					r.Sweep(t.Context())
				}
				if again := r.enter(s); again != place {
					t.Errorf("it works in %s", again)
				}
				reads(t, filepath.Join(place, "README.md"), "The app.\n")
				if status := r.sh(place, "git status --porcelain"); status != "?? new" {
					t.Errorf("it has %s", status)
				}
				if w := r.find(s); w.Snapshot != "" || !w.RemovedAt.IsZero() {
					t.Errorf("it is %+v", w)
				}
			})
		}
	}
}

// A worktree that is broken is shown with the others.
// Behaviour: worktree-list.
func TestABrokenWorktreeIsListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.enter(thread(1))
	r.sh(r.enter(thread(2)), "rm .git")
	list, err := r.List(t.Context(), "main")
	if err != nil || len(list) != 2 || list[0].Why != "" || list[1].Why == "" {
		t.Fatalf("the list is %+v, %v", list, err)
	}
}

// sweeping is a store that lets a thread begin while it is asked for all worktrees.
type sweeping struct {
	*memory

	begin func()
}

func (s sweeping) Worktrees(ctx context.Context) ([]domain.Worktree, error) {
	list, err := s.memory.Worktrees(ctx)
	if begin := s.begin; begin != nil {
		begin()
	}
	return list, err
}

// A worktree that is made during a sweep stays.
// Behaviour: worktree-sweep.
func TestAWorktreeBeginsDuringASweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sweep := worktree.New(r.config, shell{}, sweeping{r.store, func() { r.enter(thread(7)) }}, hclog.NewNullLogger())
	sweep.Sweep(t.Context())
	if _, err := os.Lstat(r.find(thread(7)).Root); err != nil {
		t.Error(err)
	}
}
