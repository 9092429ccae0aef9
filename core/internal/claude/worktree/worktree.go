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
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/session"
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
	config config.Getter
	host   string // names this host among those that make worktrees at the same place
	log    hclog.Logger

	making chan struct{} // holds a value while a worktree is planned, made or merged

	mu   sync.Mutex
	used map[string]int  // how many turns work in a worktree, by its root; -1: it is being changed
	told map[string]bool // orphans that the log has named
}

// New returns the worktrees of a config's agents.
func New(c config.Getter, shell Shell, store Store, log hclog.Logger) *Worktrees {
	w := &Worktrees{
		config: c, shell: shell, store: store, host: c.Get().StateDir, log: log,
		making: make(chan struct{}, 1), used: map[string]int{}, told: map[string]bool{},
	}
	return w
}

// agent returns the agent of a session; nil: the config has none with this label any more.
func (w *Worktrees) agent(key string) *config.Agent {
	return w.config.Get().AgentNamed(session.AgentOf(key))
}

// Due reports whether the next turn of a session makes the worktree of its thread, or is the first to work in it.
func (w *Worktrees) Due(s domain.Session) bool {
	if w == nil || s.Worktree != "" || s.Route.Thread == "" || s.ClaudeStarted {
		return false
	}
	a := w.agent(s.Key)
	return a != nil && a.Worktree == config.WorktreeThread
}

// Enter has a turn of a session work in the worktree of its thread, which is made or restored if needed, until leave is called.
// Place is the working directory; empty: the session needs no worktree, and works where it did. The error is [ErrBusy], a
// [*SetupError], ctx's, or git's. A worktree may be named after the first text of its thread.
func (w *Worktrees) Enter(ctx context.Context, s domain.Session, first string) (place string, leave func(), err error) {
	if w == nil {
		return "", func() {}, nil
	}
	a := w.agent(s.Key)
	if a == nil || s.Worktree == "" && !w.Due(s) {
		return "", func() {}, nil
	}
	known, err := w.store.Worktree(ctx, s.Key, s.Folder)
	if errors.Is(err, domain.ErrNotFound) {
		if !folder.InRepository(cmp.Or(s.Folder, a.Workspace)) {
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
	root := known.Root
	leave = func() { w.give(root) }
	if known, err = w.store.Worktree(ctx, s.Key, s.Folder); err != nil { // it may have been removed meanwhile
		leave()
		return "", func() {}, err
	}
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

// change runs f while no turn works in a worktree, with what is known of it by then.
func (w *Worktrees) change(ctx context.Context, t domain.Worktree, f func(domain.Worktree) error) error {
	root := t.Root
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
	t, err := w.store.Worktree(ctx, t.Session, t.Folder)
	if err != nil {
		return err
	}
	return f(t)
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

// snapshotRef is the ref that keeps what a removed worktree is restored from.
func snapshotRef(t domain.Worktree) string {
	return snapshots + session.AgentOf(t.Session) + "/" + filepath.Base(t.Root)
}

// Exists reports whether the folder of a worktree is there.
func Exists(t domain.Worktree) bool { return exists(t.Root) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
