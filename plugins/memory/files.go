package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// Limits for reading a workspace.
const (
	maxFiles    = 500
	maxListed   = 10_000 // of a folder
	maxFileSize = 1 << 20
)

// racy is the age below which a file may change without a new modification time: file system clocks are coarse.
const racy = 2 * time.Second

// errUnfit is the error of a file that cannot be indexed.
var errUnfit = errors.New("the file cannot be indexed")

// files updates the index of a workspace's MEMORY.md and memory/*.md.
type files struct {
	workspace *workspace.Workspace
	groups    bool // groups have folders of their own
	index     *index
	log       *slog.Logger
	now       func() time.Time

	turn    chan struct{}     // a semaphore: one walk at a time
	skipped map[string]string // by path, the logged reasons; guarded by turn
}

// known is the indexed state of a file.
type known struct {
	mtime, size, checked int64
	hash                 []byte
}

// settled reports whether a file that changed after a time has another modification time. One in the future was given to it by
// hand.
func (k known) settled(at int64) bool { return time.Duration(at-k.mtime).Abs() > racy }

func newFiles(dir string, groups bool, x *index, log *slog.Logger, now func() time.Time) *files {
	return &files{
		workspace: workspace.New(dir), groups: groups, index: x, log: log, now: now, turn: make(chan struct{}, 1),
		skipped: map[string]string{},
	}
}

// sync indexes what has changed since the last time in a group's folder, or of the owner's files. It stops when its
// context ends and continues next time. Concurrent calls wait for each other.
func (f *files) sync(ctx context.Context, folder string) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := f.walk(ctx, folder); err != nil {
		return fmt.Errorf("index files: %w", err)
	}
	return nil
}

func (f *files) walk(ctx context.Context, folder string) error {
	before, err := f.known(ctx, folder)
	if err != nil {
		return err
	}
	root, err := openFolder(f.workspace, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return f.forget(ctx, before, nil) // the host creates the workspace when it first needs it
	}
	if err != nil {
		return err
	}
	defer root.Close()
	var present []string
	list, err := f.list(root, folder)
	if err != nil {
		return err
	}
	for _, file := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(folder, file)
		err := f.update(ctx, root, file, name, before[name])
		switch {
		case err == nil:
			present = append(present, name)
			delete(f.skipped, name)
		case errors.Is(err, errUnfit) && !errors.Is(err, workspace.ErrStuck):
			f.skip(name, err)
		default:
			return err
		}
	}
	return f.forget(ctx, before, present)
}

// list returns the paths to index, relative to the root, those in memory/ or a group's folder in descending order, because their
// names are mostly dates. It fails only if the file system does not answer, because then no file is known to be gone.
func (f *files) list(root *workspace.Folder, folder string) ([]string, error) {
	dated := "memory"
	if folder != "" {
		dated = "."
	}
	entries, more, err := root.List(dated, maxListed)
	if errors.Is(err, workspace.ErrStuck) {
		return nil, err
	}
	if more {
		err = fmt.Errorf("it has more than %d entries", maxListed)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.skip(path.Join(folder, dated), err)
		entries = nil
	}
	var paths []string
	for _, e := range entries {
		if strings.EqualFold(path.Ext(e.Name()), ".md") && utf8.ValidString(e.Name()) {
			paths = append(paths, path.Join(dated, e.Name()))
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
	if len(paths) >= maxFiles {
		f.skip(path.Join(folder, dated, "*.md"),
			fmt.Errorf("there are %d files; only the last %d by name are indexed", len(paths), maxFiles-1))
		paths = paths[:maxFiles-1]
	}
	if _, err := root.Lstat("MEMORY.md"); err == nil && folder == "" {
		paths = append([]string{"MEMORY.md"}, paths...)
	}
	return paths, nil
}

// update indexes a file under a name if it has changed. Its error is [errUnfit] if the file must be left out.
func (f *files) update(ctx context.Context, root *workspace.Folder, file, name string, before known) error {
	info, err := root.Stat(file)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	same := before.hash != nil && before.mtime == info.ModTime().UnixNano() && before.size == info.Size()
	if same && before.settled(before.checked) {
		return nil
	}
	checked := f.now().UnixNano()
	text, info, err := readFile(root, file)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	same = same && bytes.Equal(hash[:], before.hash)
	if same && !before.settled(checked) {
		return nil // checked again once the modification time is reliable
	}
	var change swap
	err = f.index.change(ctx, func(tx *sql.Tx) error {
		if !bytes.Equal(hash[:], before.hash) {
			var err error
			if change, err = replace(ctx, tx, origin{path: name}, written(name, info), chunk(string(text))); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO files (path, mtime, size, hash, checked) VALUES (?, ?, ?, ?, ?)",
			name, info.ModTime().UnixNano(), info.Size(), hash[:], checked)
		return err
	})
	if err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	f.index.count(change)
	return nil
}

// readFile reads a regular text file in the workspace. Links may only lead to files within it.
func readFile(root *workspace.Folder, name string) ([]byte, os.FileInfo, error) {
	text, info, err := root.ReadFileInfo(name, maxFileSize)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", errUnfit, err)
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return nil, nil, fmt.Errorf("%w: it is not UTF-8 text", errUnfit)
	}
	return text, info, nil
}

// written returns the day that a file is about: that in its name, or else its modification time.
func written(name string, info os.FileInfo) time.Time {
	base := path.Base(name)
	if len(base) >= len(time.DateOnly) {
		if day, err := time.ParseInLocation(time.DateOnly, base[:len(time.DateOnly)], time.Local); err == nil {
			return day
		}
	}
	return info.ModTime()
}

// forget removes the files that are not present.
func (f *files) forget(ctx context.Context, before map[string]known, present []string) error {
	for name := range before {
		if slices.Contains(present, name) {
			continue
		}
		var change swap
		err := f.index.change(ctx, func(tx *sql.Tx) error {
			var err error
			if change.removed, err = remove(ctx, tx, origin{path: name}); err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, "DELETE FROM files WHERE path = ?", name)
			return err
		})
		if err != nil {
			return fmt.Errorf("forget %s: %w", name, err)
		}
		f.index.count(change)
	}
	return nil
}

// known returns what is indexed of a group's folder, or of the owner's files.
func (f *files) known(ctx context.Context, folder string) (map[string]known, error) {
	query, args := "SELECT path, mtime, size, checked, hash FROM files", []any{}
	switch {
	case folder != "":
		query, args = query+" WHERE path > ? AND path < ?", []any{folder + "/", folder + "0"}
	case f.groups:
		query, args = query+" WHERE path < ? OR path > ?", []any{groupsFolder, groupsEnd}
	}
	rows, err := f.index.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, damage(err)
	}
	defer rows.Close()
	all := map[string]known{}
	for rows.Next() {
		var name string
		var k known
		if err := rows.Scan(&name, &k.mtime, &k.size, &k.checked, &k.hash); err != nil {
			return nil, damage(err)
		}
		all[name] = k
	}
	return all, damage(rows.Err())
}

// skip logs why a file is left out, once per reason.
func (f *files) skip(name string, why error) {
	if f.skipped[name] == why.Error() {
		return
	}
	f.skipped[name] = why.Error()
	f.log.Warn("not indexed", "file", name, "reason", why)
}
