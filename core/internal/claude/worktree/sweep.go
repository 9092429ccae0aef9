package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Sweep completes or undoes removals that were interrupted, forgets those that can no longer be restored, and removes worktrees that this host
// has made and does not know any more, if nothing would be lost with them. It is called at the start and then every hour.
func (w *Worktrees) Sweep(ctx context.Context) {
	agents := w.config.Get().AllAgents()
	there := map[*config.Agent][]string{} // before the store is asked, which knows a worktree before its folder is there
	for _, a := range agents {
		there[a] = foldersIn(a.Worktrees())
	}
	all, err := w.store.Worktrees(ctx)
	if err != nil {
		w.complain(ctx, "look for worktrees", "", err)
		return
	}
	known := map[string]bool{}
	for _, t := range all {
		known[t.Root] = true
		if w.agent(t.Session) == nil {
			continue
		}
		if err := w.change(ctx, t, func(t domain.Worktree) error { return w.settle(ctx, t) }); err != nil && !errors.Is(err, ErrBusy) {
			w.complain(ctx, "complete the removal of a worktree", t.Root, err)
		}
	}
	for _, a := range agents {
		for _, root := range there[a] {
			if !known[root] {
				w.orphan(ctx, a, root)
			}
		}
	}
}

// foldersIn returns the folders in a folder; at most 1000.
func foldersIn(path string) (paths []string) {
	folder, err := workspace.New(path).Open()
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _, _ := folder.List(".", 1000)
	for _, e := range entries {
		if e.IsDir() {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	return paths
}

// settle completes what was begun with a worktree.
func (w *Worktrees) settle(ctx context.Context, t domain.Worktree) error {
	switch {
	case !t.RemovedAt.IsZero() && time.Since(t.RemovedAt) > KeptFor:
		if exists(t.Repo) {
			g, err := open(ctx, w.shell, session.AgentOf(t.Session), t.Repo)
			if err == nil {
				_, err = g.run(ctx, "update-ref", "-d", snapshotRef(t))
			}
			if err != nil {
				return err
			}
		}
		return w.store.DeleteWorktree(ctx, t.Root)
	case t.RemovedAt.IsZero() && t.Snapshot != "" && exists(t.Root): // files may be missing, but nobody has looked since at what is there
		return w.build(ctx, w.agent(t.Session), t, "")
	case t.RemovedAt.IsZero() && t.Snapshot != "":
		t.RemovedAt = time.Now()
		return w.store.KeepWorktree(ctx, t)
	}
	return nil
}

// orphan removes a worktree that the store does not know, as after a restored backup, if this host has made it and nothing would
// be lost.
func (w *Worktrees) orphan(ctx context.Context, a *config.Agent, root string) {
	g, err := open(ctx, w.shell, a.Label, root)
	if err != nil || ownedBy(ctx, g) != w.host {
		return
	}
	t := domain.Worktree{Root: root, Branch: branches + filepath.Base(root)}
	state, err := stateOf(ctx, g, t)
	if err == nil && !state.Disposable() {
		err = &KeptError{state}
	}
	if err == nil {
		_, err = g.run(ctx, "worktree", "remove", root)
	}
	if err != nil {
		w.complain(ctx, "remove a worktree that no thread has", root, err)
		return
	}
	w.log.Info("a worktree that no thread has was removed", "worktree", root)
}

// complain logs what cannot be done with a worktree, once.
func (w *Worktrees) complain(ctx context.Context, what, root string, err error) {
	w.mu.Lock()
	told := w.told[what+root]
	w.told[what+root] = true
	w.mu.Unlock()
	if !told && ctx.Err() == nil {
		w.log.Warn("cannot "+what, "worktree", root, "error", err)
	}
}
