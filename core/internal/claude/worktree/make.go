package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// build makes a worktree, or makes it again from its branch or its snapshot, and has a claude session work in it; empty: none. One that
// is ready is there if its removal was interrupted.
func (w *Worktrees) build(ctx context.Context, a *config.Agent, t domain.Worktree, claude string) error {
	began := time.Now()
	if err := os.MkdirAll(filepath.Dir(t.Root), 0o700); err != nil {
		return fmt.Errorf("make the folder of the worktrees: %w", err)
	}
	// Where the workspace is in a repository itself, this hides the worktrees from it.
	if err := ignoreAll(filepath.Dir(filepath.Dir(t.Root))); err != nil {
		return fmt.Errorf("make the folder of the worktrees: %w", err)
	}
	g, err := open(ctx, w.shell, a.Label, t.Repo)
	if err != nil {
		return err
	}
	if exists(t.Root) && t.Ready && t.RemovedAt.IsZero() {
		err = repair(ctx, g, t)
	} else {
		err = w.add(ctx, g, t)
	}
	if err != nil {
		return err
	}
	if err := include(ctx, g, t.Repo, t.Root); err != nil {
		return err
	}
	if err := w.setUp(ctx, a, t); err != nil {
		return err
	}
	snapshot := t.Snapshot
	t.Ready, t.RemovedAt, t.Snapshot = true, time.Time{}, ""
	if claude == "" {
		err = w.store.KeepWorktree(ctx, t)
	} else {
		err = w.store.EnterWorktree(ctx, claude, t)
	}
	if err != nil {
		return err
	}
	if snapshot != "" {
		if _, err := g.run(ctx, "update-ref", "-d", snapshotRef(t)); err != nil {
			w.log.Warn("the snapshot of a restored worktree cannot be deleted", "worktree", t.Root, "error", err)
		}
	}
	w.log.Info("a worktree was made", "session", t.Session, "worktree", t.Root, "branch", t.Branch, "restored", snapshot != "",
		"took", time.Since(began).Round(time.Millisecond))
	return nil
}

// add has git make the worktree.
func (w *Worktrees) add(ctx context.Context, g git, t domain.Worktree) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	switch there := exists(t.Root); {
	case t.Ready && !there: // so that what this process may leave is not taken for what it was
		t.Ready = false
		if err := w.store.KeepWorktree(ctx, t); err != nil {
			return err
		}
	case !t.Ready && there: // left by a process that ended meanwhile: no turn has worked in it
		if _, err := g.run(ctx, "worktree", "remove", "--force", "--force", t.Root); err != nil {
			w.log.Debug("git does not know what was left of a worktree", "worktree", t.Root, "error", err)
		}
		if err := os.RemoveAll(t.Root); err != nil {
			return fmt.Errorf("remove what was left of a worktree: %w", err)
		}
	}
	made, err := g.ok(ctx, "show-ref", "--verify", "--quiet", "refs/heads/"+t.Branch)
	if err != nil {
		return err
	}
	if made {
		_, err = g.run(ctx, "worktree", "add", "--quiet", "--no-checkout", "--force", "--force", t.Root, t.Branch)
	} else {
		_, err = g.run(ctx, "worktree", "add", "--quiet", "--no-checkout", "--force", "--force", "--no-track", "-b", t.Branch, t.Root, cmp.Or(t.Snapshot, t.Start))
	}
	if err != nil {
		return err
	}
	within, err := open(ctx, w.shell, g.agent, t.Root)
	if err != nil {
		return err
	}
	if _, err := within.run(ctx, "reset", "--hard", "--quiet"); err != nil {
		return err
	}
	at, err := within.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(at, hostFile), []byte(w.host), 0o600)
}

// hostFile, in git's folder of a worktree, names the host that has made it.
const hostFile = "clawhost"

// setUp runs the configured command in a new worktree.
func (w *Worktrees) setUp(ctx context.Context, a *config.Agent, t domain.Worktree) error {
	if a.WorktreeSetup == "" {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	output := &tail{most: maxComplaint}
	code, err := w.shell.Shell(bounded, a.Label, t.Place, cli.Line{
		Name: "setup:" + uuid.NewString(), Text: a.WorktreeSetup, Stdout: output, Stderr: output,
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		return &SetupError{-1, output.String()}
	case err != nil:
		return fmt.Errorf("run the setup: %w", err)
	case code != 0:
		return &SetupError{code, output.String()}
	}
	return nil
}

// ignoreAll has git ignore all files of a folder, if it has no .gitignore, also not as a link.
func ignoreAll(path string) error {
	folder, err := workspace.New(path).Open()
	if err != nil {
		return err
	}
	defer folder.Close()
	file, err := folder.Create(".gitignore")
	if err != nil {
		return ignore(err, fs.ErrExist)
	}
	_, err = file.WriteString("*\n")
	return errors.Join(err, file.Close())
}

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte
	most int
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String is the end of what was printed.
func (t *tail) String() string { return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "") }
