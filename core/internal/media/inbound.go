package media

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// inboundDir is the folder of the workspace in which the agent finds people's files. The host's own folder is not readable
// for it.
const inboundDir = "inbound"

// Inbound copies people's files to where the agent can read them.
type Inbound struct {
	files     *Files
	workspace *workspace.Workspace
	space     space
}

// NewInbound returns the inbound files of the workspace at a path.
func NewInbound(files *Files, dir string, bounds SpaceOptions) *Inbound {
	w := workspace.New(dir)
	return &Inbound{
		files: files, workspace: w,
		space: space{SpaceOptions: bounds, name: wording.FolderInbound, root: w, dir: inboundDir},
	}
}

// Show copies a file to the workspace. It returns the file's description by its content, and its absolute path, whose name
// is the host's with the extension of its type. An existing copy is reused.
func (in *Inbound) Show(instance string, m chat.Media) (shown chat.Media, path string, err error) {
	shown, file, err := in.files.look(instance, m)
	if err != nil {
		return m, "", err
	}
	defer file.Close()
	path, err = in.expose(file, string(shown.Ref)+ending(shown.MIMEType))
	return shown, path, err
}

// expose copies a file of the host to the workspace.
func (in *Inbound) expose(source *os.File, name string) (path string, err error) {
	root, err := in.workspace.Open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	name = filepath.Join(inboundDir, name)
	path = filepath.Join(in.workspace.Dir(), name)
	if _, err := root.Stat(name); err == nil {
		return path, nil
	}
	if err := root.Do(func(root *os.Root) error { return root.MkdirAll(inboundDir, 0o700) }); err != nil {
		return "", err
	}
	part := name + "." + rand.Text() + ".part" // unique: two turns may need the same file at once
	target, err := root.Create(part)
	if err != nil {
		return "", err
	}
	arrival := in.space.arrive(target, inboundDir, filepath.Base(part))
	defer arrival.end()
	_, err = io.Copy(arrival, source)
	if err == nil {
		err = arrival.count()
	}
	if err = errors.Join(err, target.Close()); err != nil {
		return "", errors.Join(err, root.Do(func(root *os.Root) error { return root.Remove(part) }))
	}
	if err := root.Do(func(root *os.Root) error { return root.Rename(part, name) }); err != nil {
		return "", err
	}
	return path, nil
}

// Discard removes expired files from people, and the oldest ones if all of them exceed the limits.
func (in *Inbound) Discard() error { return in.space.clear() }

// removeExpired removes from a folder of the workspace the host's files that have not changed for long. It does nothing if
// the folder was replaced by a link, whose target is not the host's.
func removeExpired(ctx context.Context, w *workspace.Workspace, dir string, ours func(fs.FileInfo) bool) error {
	root, err := w.Open()
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := namesIn(root, dir)
	errs := []error{err}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := root.Lstat(path); err == nil && ours(info) && time.Since(info.ModTime()) > keptFor {
			errs = append(errs, removeTree(ctx, root, path))
		}
	}
	return errors.Join(errs...)
}

// removeTree removes a folder with all that is in it. The agent may have nested folders deeper than the host may have files open,
// so each is moved up and then removed by itself. It ends early with ctx.
func removeTree(ctx context.Context, root *workspace.Folder, folder string) error {
	beside := filepath.Dir(folder)
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
				moved = filepath.Join(beside, rand.Text())
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
