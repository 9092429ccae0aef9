package files

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Inbound copies people's files to where the agent can read them.
type Inbound struct {
	files     *Store
	workspace *workspace.Workspace
	space     *Space
}

// NewInbound returns the inbound files of the workspace at a path.
func NewInbound(files *Store, dir string, bounds SpaceOptions) *Inbound {
	w := workspace.New(dir)
	return &Inbound{
		files: files, workspace: w,
		space: NewSpace(Folder{Name: wording.FolderInbound, Root: w, Dir: folder.Inbound}, bounds),
	}
}

// Show copies a file to the workspace. It returns the file's description by its content, and its absolute path, whose name
// is the host's with the extension of its type. An existing copy is reused.
func (in *Inbound) Show(ctx context.Context, instance string, m chat.Media) (shown chat.Media, path string, err error) {
	shown, file, err := in.files.Look(ctx, instance, m)
	if err != nil {
		return m, "", err
	}
	defer file.Close()
	path, err = in.expose(file, string(shown.Ref)+filetype.Ending(shown.MIMEType))
	return shown, path, err
}

// expose copies a file of the host to the workspace.
func (in *Inbound) expose(source *os.File, name string) (path string, err error) {
	root, err := in.workspace.Open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	name = filepath.Join(folder.Inbound, name)
	path = filepath.Join(in.workspace.Dir(), name)
	if _, err := root.Stat(name); err == nil {
		return path, nil
	}
	if err := root.Do(func(root *os.Root) error { return root.MkdirAll(folder.Inbound, 0o700) }); err != nil {
		return "", err
	}
	part := name + "." + rand.Text() + ".part" // unique: two turns may need the same file at once
	target, err := root.Create(part)
	if err != nil {
		return "", err
	}
	arrival := in.space.arrive(target, folder.Inbound, filepath.Base(part))
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
func (in *Inbound) Discard() error { return in.space.Clear() }
