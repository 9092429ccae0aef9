package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// maxPath bounds the path of a host's state folder.
const maxPath = 4096

// Listed is a worktree and what it has.
type Listed struct {
	domain.Worktree

	Name string // unique among those of the agent
	Busy bool   // a turn works in it
	Gone bool   // its folder was deleted by somebody else
	Why  string // git cannot say what it has; empty: it has
	State
}

// State is what a worktree has that nothing else has. It is zero for a worktree that is removed or gone.
type State struct {
	Uncommitted int    // files with changes that are not committed
	Ahead       int    // commits that are in no other branch, and whose changes the base does not have
	Ignored     int    // files and folders that git ignores
	Unfinished  string // merge, rebase, cherry-pick, revert or bisect, in the middle of which it is, or a worktree within it; empty: none
	Head        string // the commit that is checked out
}

// Disposable reports whether nothing would be lost with the worktree.
func (s State) Disposable() bool { return s.Uncommitted == 0 && s.Ahead == 0 && s.Unfinished == "" }

// List returns the worktrees of an agent, also the removed ones that can be restored.
func (w *Worktrees) List(ctx context.Context, agent string) ([]Listed, error) {
	all, err := w.of(ctx, agent)
	if err != nil {
		return nil, err
	}
	list := make([]Listed, len(all))
	for i, t := range all {
		list[i] = Listed{Worktree: t, Name: filepath.Base(t.Root), Gone: !exists(t.Root)}
		if !t.Ready || !t.RemovedAt.IsZero() || list[i].Gone {
			continue
		}
		w.mu.Lock()
		list[i].Busy = w.used[t.Root] != 0
		w.mu.Unlock()
		if list[i].State, err = w.Look(ctx, t); ctx.Err() != nil {
			return nil, err
		} else if err != nil {
			list[i].Why = err.Error()
		}
	}
	return list, nil
}

// of returns the worktrees of an agent.
func (w *Worktrees) of(ctx context.Context, agent string) ([]domain.Worktree, error) {
	all, err := w.store.Worktrees(ctx)
	return slices.DeleteFunc(all, func(t domain.Worktree) bool { return session.AgentOf(t.Session) != agent }), err
}

// stateOf looks at a worktree.
func stateOf(ctx context.Context, g git, t domain.Worktree) (s State, err error) {
	// By this, it looks at files that it was told not to look at, too.
	all := g
	all.config = append(slices.Clip(g.config), "core.sparseCheckout=true", "sparse.expectFilesOutsideOfPatterns=false")
	status, err := all.run(ctx, "status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching",
		"--ignore-submodules=dirty") // in a submodule, git would run what its config names
	if err != nil {
		return s, err
	}
	entries := strings.Split(status, "\x00")
	for i := 0; i < len(entries); i++ {
		switch entry := entries[i]; {
		case len(entry) < 2:
		case entry[:2] == "!!":
			s.Ignored++
		default:
			if s.Uncommitted++; entry[0] == 'R' || entry[0] == 'C' {
				i++ // the former name
			}
		}
	}
	unseen, err := g.count(ctx, "^[a-z]", "ls-files", "-v") // assumed to be unchanged
	if err != nil {
		return s, err
	}
	s.Uncommitted += unseen
	if s.Unfinished, err = unfinished(ctx, g); err != nil {
		return s, err
	}
	if s.Head, err = g.run(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return s, err
	}
	heads := []string{"HEAD"}
	if made, err := g.ok(ctx, "show-ref", "--verify", "--quiet", "refs/heads/"+t.Branch); err != nil {
		return s, err
	} else if made {
		heads = append(heads, "refs/heads/"+t.Branch)
	}
	args := slices.Concat([]string{"rev-list", "--count"}, heads, []string{"--not", "--exclude=" + t.Branch, "--branches", "--remotes", "--tags"})
	if t.Start != "" {
		args = append(args, t.Start)
	}
	count, err := g.run(ctx, args...)
	if err == nil {
		s.Ahead, err = strconv.Atoi(count)
	}
	if err != nil {
		return s, err
	}
	if s.Ahead > 0 && t.Base != "" && contained(ctx, g, t.Base, heads) {
		s.Ahead = 0
	}
	return s, nil
}

// contained reports whether merging the heads into a branch would change nothing, as after a squash.
func contained(ctx context.Context, g git, branch string, heads []string) bool {
	has, err := g.run(ctx, "rev-parse", "--verify", "refs/heads/"+branch+"^{tree}")
	for _, head := range heads {
		if err != nil {
			return false
		}
		var merged string
		merged, err = g.run(ctx, "merge-tree", "--write-tree", "refs/heads/"+branch, head)
		if err == nil && merged != has {
			return false
		}
	}
	return err == nil
}

// unfinished names the operation of git in the middle of which a worktree is.
func unfinished(ctx context.Context, g git) (string, error) {
	dir, err := g.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	for _, sign := range []struct{ file, of string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if exists(filepath.Join(dir, sign.file)) {
			return sign.of, nil
		}
	}
	top, err := g.run(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	list, err := g.run(ctx, "worktree", "list", "--porcelain", "-z")
	for _, line := range words(list) {
		if strings.HasPrefix(line, "worktree "+top+"/") {
			return "worktree within it", err
		}
	}
	return "", err
}

// ownedBy returns the host that has made the worktree in a folder; empty: it is none, or no host has.
func ownedBy(ctx context.Context, g git) string {
	dir, err := g.run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return ""
	}
	folder, err := workspace.New(dir).Open()
	if err != nil {
		return ""
	}
	defer folder.Close()
	host, err := folder.ReadFile(hostFile, maxPath)
	if err != nil {
		return ""
	}
	return string(host)
}

// KeptError says what a worktree has that would be lost.
type KeptError struct{ State }

// Error says it.
func (e *KeptError) Error() string {
	return fmt.Sprintf("the worktree has %d uncommitted files and %d commits that are nowhere else", e.Uncommitted, e.Ahead)
}
