package outgoing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// maxEntries limits the entries of a conversation's folder that are read.
	maxEntries = 1000
	// maxListed limits the entries that are read at once to remove expired folders.
	maxListed = 100_000
	// unfinished is how long after its last change a file may still be in use by a turn.
	unfinished = time.Hour
)

// Ledger records the files of the conversations' folders that answers have handled; see [store.Store].
type Ledger interface {
	OutgoingFiles(ctx context.Context, agent, folder string) ([]domain.OutgoingFile, error)
	DeleteOutgoing(ctx context.Context, files ...domain.OutgoingFile) error
}

// sessionForm matches a conversation's name: the uuid of its claude session.
var sessionForm = lazyregexp.New(`^[0-9a-f-]{8,36}$`)

// Folder returns a conversation's folder, relative to the workspace, or "" for an invalid name.
func Folder(session string) string {
	if !sessionForm().MatchString(session) {
		return ""
	}
	name := strings.ReplaceAll(session, "-", "")
	return filepath.Join(folder.Outbound, name[:min(len(name), 12)])
}

// Open creates a conversation's folder and returns its path for the agent, relative to the workspace.
func (o *Files) Open(session string) (string, error) {
	folder := Folder(session)
	if folder == "" {
		return "", fmt.Errorf("create the folder of outgoing files: %q names no conversation", session)
	}
	root, err := o.workspace.Open()
	if err != nil {
		return "", fmt.Errorf("create the folder of outgoing files: %w", err)
	}
	defer root.Close()
	if err := root.Do(func(root *os.Root) error { return root.MkdirAll(folder, 0o700) }); err != nil {
		return "", fmt.Errorf("create the folder of outgoing files: %w", err)
	}
	return folder, nil
}

// isFolder reports whether a folder exists and is not a link of the agent that leads elsewhere.
func isFolder(root *workspace.Folder, folder string) bool {
	for dir := folder; dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// entries returns at most a number of names in a folder; none if it does not exist.
func entries(root *workspace.Folder, folder string, most int) ([]string, error) {
	if !isFolder(root, folder) {
		return nil, nil
	}
	names, _, err := root.Names(folder, most)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrNoFolder) {
		return nil, nil
	}
	return names, err
}

// hidden reports whether a file of the folder is not sent because its name begins with a dot.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// inFolder reports whether a path is sent from the conversation's folder.
func (c *collection) inFolder(path string) bool {
	return filepath.Dir(path) == c.own && !hidden(filepath.Base(path))
}

// version distinguishes a file from a later one with the same name.
func version(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// prepared takes the files from the conversation's folder, except those that an answer has handled: the sent ones are about
// to be removed, and the chat was informed of the others.
func (c *collection) prepared(ctx context.Context) {
	if c.own == "" {
		return
	}
	names, err := entries(c.root, c.own, maxEntries)
	names = slices.DeleteFunc(names, hidden)
	var dealt []domain.OutgoingFile
	if err == nil && len(names) > 0 {
		dealt, err = c.from.ledger.OutgoingFiles(ctx, c.from.agent, c.own)
	}
	if err != nil {
		c.from.log.Warn("cannot look for outgoing files", "error", err) // they stay for the next answer
		return
	}
	for _, name := range names {
		path := filepath.Join(c.own, name)
		info, err := c.root.Lstat(path)
		if err != nil {
			continue // the agent has removed it
		}
		f := domain.OutgoingFile{Agent: c.from.agent, Folder: c.own, Name: name, Version: version(info)}
		if slices.ContainsFunc(dealt, func(d domain.OutgoingFile) bool { return d.Name == f.Name && d.Version == f.Version }) {
			continue
		}
		disposition := reported
		if info.IsDir() {
			c.problem(wording.FileIsFolder(shown(name)))
		} else {
			disposition = c.open(ctx, path)
		}
		if f.Sent = disposition == sent; disposition != kept {
			c.taken.Files = append(c.taken.Files, f)
		}
	}
}

// Clear removes the files that were sent with a durable answer. A file that it cannot remove is not sent again, and
// [Files.Discard] removes it later.
func (o *Files) Clear(ctx context.Context, files []domain.OutgoingFile) error {
	if len(files) == 0 {
		return nil
	}
	root, err := o.workspace.Open()
	if err != nil {
		return fmt.Errorf("remove sent files: %w", err)
	}
	defer root.Close()
	var over []domain.OutgoingFile
	var errs []error
	for _, f := range files {
		gone, err := clearFile(root, f)
		if errs = append(errs, err); gone {
			over = append(over, f)
		}
	}
	errs = append(errs, o.ledger.DeleteOutgoing(ctx, over...))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove sent files: %w", err)
	}
	return nil
}

// clearFile removes a file that was sent, and reports whether the sent version no longer exists.
func clearFile(root *workspace.Folder, f domain.OutgoingFile) (gone bool, err error) {
	path := filepath.Join(f.Folder, f.Name)
	if !isFolder(root, f.Folder) {
		return true, nil
	}
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case version(info) != f.Version:
		return true, nil
	case !f.Sent:
		return false, nil
	}
	err = root.Do(func(root *os.Root) error { return root.Remove(path) })
	return err == nil, err
}

// Discard removes the folders of expired conversations, and sent files that remain, for example because the host ended
// before it removed them. If all files exceed the limits, the oldest are removed.
func (o *Files) Discard(ctx context.Context) error {
	err := o.removeExpired(ctx)
	sent, ledgerErr := o.ledger.OutgoingFiles(ctx, o.agent, "")
	return errors.Join(err, ledgerErr, o.space.Clear(), o.Clear(ctx, sent))
}

// removeExpired removes the folders of expired conversations. It does nothing if the folder that contains them was replaced by a link,
// whose target is not the host's.
func (o *Files) removeExpired(ctx context.Context) error {
	root, err := o.workspace.Open()
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := entries(root, folder.Outbound, maxListed)
	errs := []error{err}
	for _, name := range names {
		path := filepath.Join(folder.Outbound, name)
		if info, err := root.Lstat(path); err == nil && info.IsDir() && o.space.Expired(info.ModTime()) {
			errs = append(errs, removeTree(ctx, root, path))
		}
	}
	return errors.Join(errs...)
}

// removeTree removes a folder with all that is in it. The agent may have nested folders deeper than the host may have files open,
// so each is moved up and then removed by itself. It ends early with ctx.
func removeTree(ctx context.Context, root *workspace.Folder, folder string) error {
	parent := filepath.Dir(folder)
	for left := []string{folder}; len(left) > 0; {
		dir := left[len(left)-1]
		list, more, err := root.List(dir, maxListed)
		if err != nil {
			return err
		}
		if !more {
			left = left[:len(left)-1]
		}
		for _, entry := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			path, moved := filepath.Join(dir, entry.Name()), ""
			if entry.IsDir() {
				moved = filepath.Join(parent, rand.Text())
				left = append(left, moved)
			}
			err := root.Do(func(root *os.Root) error {
				if moved != "" {
					return root.Rename(path, moved)
				}
				return root.Remove(path)
			})
			if err != nil {
				return err
			}
		}
		if more {
			continue
		}
		if err := root.Do(func(root *os.Root) error { return root.Remove(dir) }); err != nil {
			return err
		}
	}
	return nil
}

// others reports whether a path of the workspace belongs to the owner's memory, or to another chat than the one with the
// given folder.
func others(path, own string) bool {
	if own != "" && strings.HasPrefix(path, own+string(filepath.Separator)) {
		return false
	}
	return folder.Private(path)
}
