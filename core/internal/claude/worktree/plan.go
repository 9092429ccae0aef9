package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// plan chooses the place, the branch and the start of a session's worktree, and keeps them. Without a root there can be none: the
// repository has no commit.
func (w *Worktrees) plan(ctx context.Context, a *config.Agent, s domain.Session, first string) (domain.Worktree, error) {
	folder := cmp.Or(s.Folder, a.Workspace)
	g, err := open(ctx, w.shell, a.Label, folder)
	if err != nil {
		return domain.Worktree{}, err
	}
	start, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		w.log.Warn("a thread gets no worktree, as the repository has no commit", "session", s.Key, "folder", folder)
		return domain.Worktree{}, nil
	}
	if err != nil {
		return domain.Worktree{}, err
	}
	repo, err := g.run(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return domain.Worktree{}, err
	}
	within, err := g.run(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return domain.Worktree{}, err
	}
	base, err := g.run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		base, err = "", nil
	}
	if err != nil {
		return domain.Worktree{}, err
	}
	if err := w.lock(ctx); err != nil { // no two sessions choose the same name
		return domain.Worktree{}, err
	}
	defer w.unlock()
	taken, err := w.store.Worktrees(ctx)
	if err != nil {
		return domain.Worktree{}, err
	}
	dir := a.Worktrees()
	for n := 1; ; n++ {
		name := nameOf(s, first, n)
		root := filepath.Join(dir, name)
		free, err := g.ok(ctx, "show-ref", "--verify", "--quiet", "refs/heads/"+branches+name)
		if err != nil {
			return domain.Worktree{}, err
		}
		if free || exists(root) || slices.ContainsFunc(taken, func(other domain.Worktree) bool { return other.Root == root }) {
			continue
		}
		planned := domain.Worktree{
			Session: s.Key, Folder: s.Folder, Root: root, Place: filepath.Join(root, within), Repo: repo,
			Branch: branches + name, Base: base, Start: start, MadeAt: time.Now(),
		}
		return planned, w.store.KeepWorktree(ctx, planned)
	}
}

// nameOf is the name of a session's worktree: the chat's title and the thread's number, or, where the network gives threads longer ids,
// the beginning of the first text and the end of the id. From the second try on it has a number, too.
func nameOf(s domain.Session, first string, try int) string {
	const most, short = 24, 6
	about, id := s.Title, plainName(string(s.Route.Thread), most)
	if len(id) > short {
		about, id = first, id[len(id)-4:]
	}
	name := strings.Trim(cmp.Or(plainName(about, most), "thread")+"-"+id, "-")
	if try > 1 {
		name = fmt.Sprintf("%s-%d", name, try)
	}
	return name
}

// plainName is what a text has of letters and digits that fit into any name, in lower case and at most so many.
func plainName(text string, most int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() >= most {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}
