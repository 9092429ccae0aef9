package sessions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const worktreeColumns = `root, session, folder, place, repo, branch, base, start, made_at, ready, snapshot, COALESCE(removed_at, 0)`

func scanWorktree(scan func(dest ...any) error) (w domain.Worktree, err error) {
	var madeAt, removedAt int64
	err = scan(&w.Root, &w.Session, &w.Folder, &w.Place, &w.Repo, &w.Branch, &w.Base, &w.Start, &madeAt, &w.Ready, &w.Snapshot, &removedAt)
	w.MadeAt, w.RemovedAt = engine.Moment(madeAt), engine.Moment(removedAt)
	return w, err
}

// Worktree returns the worktree of a session for a folder on this host, or [domain.ErrNotFound].
func (s *Store) Worktree(ctx context.Context, session, folder string) (domain.Worktree, error) {
	w, err := scanWorktree(func(dest ...any) error {
		return s.db.View(ctx).Row(`SELECT `+worktreeColumns+` FROM worktrees WHERE host = ?3 AND session = ?1 AND folder = ?2`, []any{session, folder, s.self.Name}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return w, fmt.Errorf("worktree: %w", err)
	}
	return w, nil
}

// Worktrees returns all worktrees of this host, also the removed ones that can be restored, the oldest first. They are all: the sweep takes what is not
// among them for forgotten.
func (s *Store) Worktrees(ctx context.Context) (list []domain.Worktree, err error) {
	err = s.db.View(ctx).Each(`SELECT `+worktreeColumns+` FROM worktrees WHERE host = ?1 ORDER BY made_at, root`, []any{s.self.Name}, func(rows engine.Rows) error {
		w, err := scanWorktree(rows.Scan)
		list = append(list, w)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("worktrees: %w", err)
	}
	return list, nil
}

// KeepWorktree adds a worktree of this host, or replaces what was kept of the one with this root.
func (s *Store) KeepWorktree(ctx context.Context, w domain.Worktree) error {
	return engine.Change(ctx, s.db, "keep worktree", func(t *engine.Tx) error { return s.keepWorktree(t, w) })
}

func (s *Store) keepWorktree(t *engine.Tx, w domain.Worktree) error {
	removedAt := sql.NullInt64{Int64: engine.Millis(w.RemovedAt), Valid: !w.RemovedAt.IsZero()}
	_, err := t.Exec(`INSERT INTO worktrees (root, session, folder, place, repo, branch, base, start, made_at, ready, snapshot, removed_at, host)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT (host, root) DO UPDATE SET session = excluded.session, folder = excluded.folder, place = excluded.place, repo = excluded.repo,
			branch = excluded.branch, base = excluded.base, start = excluded.start, made_at = excluded.made_at, ready = excluded.ready,
			snapshot = excluded.snapshot, removed_at = excluded.removed_at`,
		w.Root, w.Session, w.Folder, w.Place, w.Repo, w.Branch, w.Base, w.Start, engine.Millis(w.MadeAt), w.Ready, w.Snapshot, removedAt, s.self.Name)
	return err
}

// EnterWorktree keeps a worktree that is ready, and has a claude session work in it. Those that its session begins in this folder
// from then on work there, too.
func (s *Store) EnterWorktree(ctx context.Context, claude string, w domain.Worktree) error {
	return engine.Change(ctx, s.db, "enter worktree", func(t *engine.Tx) error {
		w.Ready = true
		if err := s.keepWorktree(t, w); err != nil {
			return err
		}
		_, err := t.Exec(`UPDATE claude_sessions SET worktree = ?2 WHERE id = ?1`, claude, w.Place)
		return err
	})
}

// DeleteWorktree forgets a worktree of this host.
func (s *Store) DeleteWorktree(ctx context.Context, root string) error {
	return engine.Change(ctx, s.db, "delete worktree", func(t *engine.Tx) error {
		_, err := t.Exec(`DELETE FROM worktrees WHERE host = ?2 AND root = ?1`, root, s.self.Name)
		return err
	})
}

// worktreeOf is the place of the worktree of a session, a parameter, for a folder, another one; empty: there is none. Where
// several hosts have one, it is the newest.
func worktreeOf(session, folder string) string {
	return `COALESCE((SELECT w.place FROM worktrees w WHERE w.session = ` + session + ` AND w.folder = ` + folder + ` AND w.ready != 0 ORDER BY w.made_at DESC LIMIT 1), '')`
}
