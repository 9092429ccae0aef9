package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// Find returns the worktree of an agent with a name, or the one of a session, if the name is empty. The error is [domain.ErrNotFound].
func (w *Worktrees) Find(ctx context.Context, s domain.Session, name string) (domain.Worktree, error) {
	if name == "" {
		return w.store.Worktree(ctx, s.Key, s.Folder)
	}
	all, err := w.of(ctx, session.AgentOf(s.Key))
	if err != nil {
		return domain.Worktree{}, err
	}
	for _, t := range all {
		if filepath.Base(t.Root) == name {
			return t, nil
		}
	}
	return domain.Worktree{}, domain.ErrNotFound
}

// Look returns what a worktree has. The error is ctx's or git's.
func (w *Worktrees) Look(ctx context.Context, t domain.Worktree) (State, error) {
	g, err := open(ctx, w.shell, session.AgentOf(t.Session), t.Root)
	if err != nil {
		return State{}, err
	}
	return stateOf(ctx, g, t)
}

// Remove removes a worktree that has nothing that would be lost, after it has kept a snapshot of it under a ref of the host's own.
// The error is a [*KeptError], [ErrBusy], ctx's, or git's, which looks at the files itself once more.
func (w *Worktrees) Remove(ctx context.Context, t domain.Worktree) error {
	return w.change(ctx, t, func(t domain.Worktree) error {
		g, err := open(ctx, w.shell, session.AgentOf(t.Session), t.Root)
		if err != nil {
			return err
		}
		state, err := stateOf(ctx, g, t)
		if err != nil {
			return err
		}
		if !state.Disposable() {
			return &KeptError{state}
		}
		modules, err := g.count(ctx, "^160000 ", "ls-files", "--stage")
		if err != nil {
			return err
		}
		if modules > 0 { // before git looks into them
			return errors.New("git removes no worktree that has submodules")
		}
		if t.Snapshot, err = snapshot(ctx, g, t, state.Head); err != nil {
			return err
		}
		if err := w.store.KeepWorktree(ctx, t); err != nil {
			return err
		}
		main, ctx, cancel := g.in(t.Repo).detached(ctx)
		defer cancel()
		if _, err := main.run(ctx, "worktree", "remove", t.Root); err != nil {
			return err
		}
		t.RemovedAt = time.Now()
		if err := w.store.KeepWorktree(ctx, t); err != nil {
			return err
		}
		w.log.Info("a worktree was removed", "session", t.Session, "worktree", t.Root, "snapshot", t.Snapshot)
		w.dropBranch(ctx, main, t)
		return nil
	})
}

// dropBranch deletes the branch of a removed worktree, if the snapshot has all of it.
func (w *Worktrees) dropBranch(ctx context.Context, g git, t domain.Worktree) {
	kept, err := g.ok(ctx, "merge-base", "--is-ancestor", "refs/heads/"+t.Branch, t.Snapshot)
	if err == nil && kept {
		_, err = g.run(ctx, "branch", "--quiet", "-D", t.Branch)
	}
	if err != nil {
		w.log.Warn("the branch of a removed worktree stays", "worktree", t.Root, "branch", t.Branch, "error", err)
	}
}

// repair brings back the files of a worktree that an interrupted removal has deleted. It changes no others.
func repair(ctx context.Context, g git, t domain.Worktree) error {
	if !exists(filepath.Join(t.Root, ".git")) {
		if _, err := g.run(ctx, "worktree", "repair"); err != nil {
			return err
		}
	}
	within, err := open(ctx, g.shell, g.agent, t.Root)
	if err != nil {
		return err
	}
	if prefix, err := within.run(ctx, "rev-parse", "--show-prefix"); err != nil || prefix != "" {
		return cmp.Or(err, fmt.Errorf("%s is no worktree any more", t.Root))
	}
	_, err = within.line(ctx, "checkout-index",
		within.command("", "ls-files", "-z", "--deleted")+" | "+within.command("", "checkout-index", "-z", "--stdin"))
	return err
}

// snapshot commits all files of a worktree that git does not ignore, without a trace in it, and keeps the commit under a ref.
func snapshot(ctx context.Context, g git, t domain.Worktree, head string) (string, error) {
	dir, err := os.MkdirTemp("", "clawhost-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	index := "GIT_INDEX_FILE=" + process.Quoted(filepath.Join(dir, "index")) + " "
	tree, err := g.line(ctx, "write-tree", g.command(index, "read-tree", "HEAD")+" && "+g.command(index, "add", "--all")+" && "+
		g.command(index, "write-tree"))
	if err != nil {
		return "", err
	}
	has, err := g.run(ctx, "rev-parse", "--verify", "HEAD^{tree}")
	if err != nil {
		return "", err
	}
	commit := head
	if tree != has {
		commit, err = g.named().run(ctx, "commit-tree", tree, "-p", head, "-m", wording.SnapshotCommit)
		if err != nil {
			return "", err
		}
	}
	_, err = g.run(ctx, "update-ref", snapshotRef(t), commit)
	return commit, err
}

// Restore makes a removed worktree again. The error is ctx's, a [*SetupError], or git's.
func (w *Worktrees) Restore(ctx context.Context, t domain.Worktree) error {
	a := w.agent(t.Session)
	if a == nil {
		return fmt.Errorf("there is no agent %s", session.AgentOf(t.Session))
	}
	return w.change(ctx, t, func(t domain.Worktree) error { return w.build(ctx, a, t, "") })
}
