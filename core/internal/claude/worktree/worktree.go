// Package worktree gives threads working copies of repositories for themselves, by git: it makes, lists, merges, removes and restores
// them.
package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// KeptFor is how long a removed worktree can be restored.
	KeptFor = 30 * 24 * time.Hour
	// setupTime limits the setup command of a new worktree.
	setupTime = 10 * time.Minute
	// branches is the folder of the branches, and snapshots that of the refs that removed worktrees are restored from.
	branches, snapshots = "clawhost/", "refs/clawhost/worktrees/"
)

// Store keeps worktrees: store.Store.
type Store interface {
	// Worktree returns the worktree of a session for a folder, or [domain.ErrNotFound].
	Worktree(ctx context.Context, session, folder string) (domain.Worktree, error)
	Worktrees(ctx context.Context) ([]domain.Worktree, error)
	KeepWorktree(ctx context.Context, w domain.Worktree) error
	EnterWorktree(ctx context.Context, claude string, w domain.Worktree) error
	DeleteWorktree(ctx context.Context, root string) error
}

// ErrBusy is returned if a turn works in a worktree, or it is being made or removed.
var ErrBusy = errors.New("the worktree is in use")

// SetupError is the failure of the setup command of a new worktree.
type SetupError struct {
	Code   int    // its exit code; -1: it took too long
	Output string // the end of what it printed
}

// Error says how the command failed.
func (e *SetupError) Error() string {
	if e.Code < 0 {
		return fmt.Sprintf("the setup takes longer than %s: %s", setupTime, e.Output)
	}
	return fmt.Sprintf("the setup fails with exit code %d: %s", e.Code, e.Output)
}

// Worktrees are those of all agents. It is safe for concurrent use.
type Worktrees struct {
	shell  Shell
	store  Store
	agents map[string]*config.Agent // by their labels
	host   string                   // names this host among those that make worktrees at the same place
	log    hclog.Logger

	making chan struct{} // holds a value while a worktree is planned, made or merged

	mu   sync.Mutex
	used map[string]int  // how many turns work in a worktree, by its root; -1: it is being changed
	told map[string]bool // orphans that the log has named
}

// New returns the worktrees of a config's agents.
func New(c *config.Config, shell Shell, store Store, log hclog.Logger) *Worktrees {
	w := &Worktrees{
		shell: shell, store: store, agents: map[string]*config.Agent{}, host: c.StateDir, log: log,
		making: make(chan struct{}, 1), used: map[string]int{}, told: map[string]bool{},
	}
	for _, a := range c.AllAgents() {
		w.agents[a.Label] = a
	}
	return w
}

// Enter has a turn of a session work in the worktree of its thread, which is made or restored if needed, until leave is called.
// Place is the working directory; empty: the session needs no worktree, and works where it did. The error is [ErrBusy], a
// [*SetupError], ctx's, or git's. A worktree may be named after the first text of its thread.
func (w *Worktrees) Enter(ctx context.Context, s domain.Session, first string) (place string, leave func(), err error) {
	if w == nil {
		return "", func() {}, nil
	}
	a := w.agents[session.AgentOf(s.Key)]
	if a == nil || s.Worktree == "" && (a.Worktree != config.WorktreeThread || s.Route.Thread == "" || s.ClaudeStarted) {
		return "", func() {}, nil
	}
	known, err := w.store.Worktree(ctx, s.Key, s.Folder)
	if errors.Is(err, domain.ErrNotFound) {
		if !inRepository(cmp.Or(s.Folder, a.Workspace)) {
			return "", func() {}, nil
		}
		known, err = w.plan(ctx, a, s, first)
	}
	if err != nil || known.Root == "" {
		return "", func() {}, err
	}
	if err := w.take(known.Root); err != nil {
		return "", func() {}, err
	}
	leave = func() { w.give(known.Root) }
	if known.Ready && known.RemovedAt.IsZero() && known.Snapshot == "" && exists(known.Root) {
		if s.Worktree == "" {
			err = w.store.EnterWorktree(ctx, s.ClaudeSession, known)
		}
	} else {
		err = w.build(ctx, a, known, s.ClaudeSession)
	}
	if err != nil {
		leave()
		return "", func() {}, err
	}
	return known.Place, leave, nil
}

// take notes that a turn works in a worktree.
func (w *Worktrees) take(root string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used[root] < 0 {
		return ErrBusy
	}
	w.used[root]++
	return nil
}

func (w *Worktrees) give(root string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used[root]--; w.used[root] == 0 {
		delete(w.used, root)
	}
}

// change runs f while no turn works in a worktree.
func (w *Worktrees) change(root string, f func() error) error {
	w.mu.Lock()
	if w.used[root] != 0 {
		w.mu.Unlock()
		return ErrBusy
	}
	w.used[root] = -1
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.used, root)
	}()
	return f()
}

// lock waits until nobody else chooses the name of a worktree, has git make one, or merges one.
func (w *Worktrees) lock(ctx context.Context) error {
	select {
	case w.making <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *Worktrees) unlock() { <-w.making }

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

// snapshotRef is the ref that keeps what a removed worktree is restored from.
func snapshotRef(t domain.Worktree) string {
	return snapshots + session.AgentOf(t.Session) + "/" + filepath.Base(t.Root)
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

// inRepository reports whether a folder is in a repository, as far as its name says.
func inRepository(folder string) bool {
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if exists(filepath.Join(folder, ".git")) {
			return true
		}
	}
	return false
}

// Exists reports whether the folder of a worktree is there.
func Exists(t domain.Worktree) bool { return exists(t.Root) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
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
