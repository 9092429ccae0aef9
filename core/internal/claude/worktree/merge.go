package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// ConflictError is a merge that people must do.
type ConflictError struct{ Files []string }

// Error says so.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the branch and its base have changed the same places of %d files", len(e.Files))
}

// ErrNoBase is returned by [Worktrees.Merge] if the worktree began at a commit that no branch had checked out.
var ErrNoBase = errors.New("the worktree began at no branch")

// Merged is what a merge has done.
type Merged struct {
	Base    string // the branch that has the commits now
	Commits int    // zero: it had them already
}

// Merge merges the branch of a worktree into its base, if there is no conflict. Where the base is checked out, the files change. The
// error is [ErrNoBase], a [*KeptError] for files that are not committed, a [*ConflictError], [ErrBusy], ctx's, or git's.
func (w *Worktrees) Merge(ctx context.Context, t domain.Worktree) (done Merged, err error) {
	err = w.change(ctx, t, func(t domain.Worktree) error {
		g, err := open(ctx, w.shell, session.AgentOf(t.Session), t.Root)
		if err != nil {
			return err
		}
		state, err := stateOf(ctx, g, t)
		if err != nil {
			return err
		}
		if state.Uncommitted > 0 || state.Unfinished != "" {
			return &KeptError{state}
		}
		if err := w.lock(ctx); err != nil { // the base must not move meanwhile
			return err
		}
		defer w.unlock()
		done, err = merge(ctx, g, t, state.Head)
		return err
	})
	if err == nil {
		w.log.Info("a worktree was merged", "session", t.Session, "worktree", t.Root, "into", done.Base, "commits", done.Commits)
	}
	return done, err
}

func merge(ctx context.Context, g git, t domain.Worktree, head string) (done Merged, err error) {
	if t.Base == "" {
		return done, ErrNoBase
	}
	done.Base = t.Base
	base := "refs/heads/" + t.Base
	count, err := g.run(ctx, "rev-list", "--count", head, "--not", base)
	if err != nil {
		return done, err
	}
	if _, err := fmt.Sscan(count, &done.Commits); err != nil || done.Commits == 0 {
		return done, err
	}
	old, err := g.run(ctx, "rev-parse", "--verify", base+"^{commit}")
	if err != nil {
		return done, err
	}
	next := head
	if behind, err := g.ok(ctx, "merge-base", "--is-ancestor", base, head); err != nil {
		return done, err
	} else if !behind {
		if next, err = mergeCommit(ctx, g, t, old, head); err != nil {
			return done, err
		}
	}
	out, err := checkedOut(ctx, g, base)
	if err != nil {
		return done, err
	}
	g, ctx, cancel := g.detached(ctx)
	defer cancel()
	if out == "" {
		_, err = g.run(ctx, "update-ref", base, next, old)
		return done, err
	}
	there, err := open(ctx, g.shell, g.agent, out)
	if err != nil {
		return done, err
	}
	there.outlives = g.outlives
	if top, err := there.run(ctx, "rev-parse", "--show-toplevel"); err != nil || top != out {
		return done, cmp.Or(err, fmt.Errorf("the config of %s names another working tree", out))
	}
	_, err = there.run(ctx, "merge", "--ff-only", "--no-overwrite-ignore", "--quiet", next) // git refuses to overwrite changes there
	return done, err
}

// mergeCommit merges two commits, without a working tree.
func mergeCommit(ctx context.Context, g git, t domain.Worktree, base, head string) (string, error) {
	// With conflicts, git fails with 1 and names the files after the tree.
	output, err := g.line(ctx, "merge-tree",
		g.command("", "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, head)+" || test $? -eq 1")
	if err != nil {
		return "", err
	}
	tree, conflicts := words(output)[0], words(output)[1:]
	if len(conflicts) > 0 {
		return "", &ConflictError{conflicts}
	}
	if known, err := g.ok(ctx, "config", "--get", "user.email"); err != nil {
		return "", err
	} else if !known {
		g = g.named()
	}
	return g.run(ctx, "commit-tree", tree, "-p", base, "-p", head, "-m", wording.MergeCommit(t.Branch, t.Base))
}

// checkedOut returns the working tree in which a branch is checked out; empty: none.
func checkedOut(ctx context.Context, g git, ref string) (string, error) {
	list, err := g.run(ctx, "worktree", "list", "--porcelain", "-z")
	tree := ""
	for _, line := range words(list) {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			tree = path
		}
		if line == "branch "+ref {
			return tree, err
		}
	}
	return "", err
}

// words splits what git prints with -z.
func words(output string) []string { return strings.Split(strings.TrimSuffix(output, "\x00"), "\x00") }
