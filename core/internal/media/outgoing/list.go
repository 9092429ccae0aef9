package outgoing

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// maxNames limits the entries of a listed folder.
const maxNames = 200

// List returns the entries of a folder in which the agent works, or, without one, of its workspace, at a path as [Wanted] has them:
// those whose files may be sent. More reports whether there are further ones. The error is a [wording.Reason] if it says why there is
// nothing to list.
func (o *Files) List(folder, path string, private bool) (entries []wording.Entry, more bool, err error) {
	at := o.workspace
	if folder != "" {
		at = workspace.New(folder)
	}
	within := "."
	if path != "" && filepath.Clean(path) != "." {
		if within, err = local(at.Dir(), path); err != nil {
			return nil, false, err
		}
	}
	closed := func(path string) bool { return folder == "" && !private && others(path, "") }
	if closed(within) {
		return nil, false, wording.PathPrivate
	}
	root, err := at.Open()
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	found, more, err := root.List(within, maxNames)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, workspace.ErrNoFolder):
		return nil, false, wording.PathMissing
	case err != nil:
		return nil, false, err
	}
	found = slices.DeleteFunc(found, func(e fs.DirEntry) bool { return closed(filepath.Join(within, e.Name())) })
	for _, e := range found {
		entry := wording.Entry{Name: e.Name(), Folder: e.IsDir(), Size: -1}
		if e.Type().IsRegular() {
			if info, err := root.Lstat(filepath.Join(within, e.Name())); err == nil {
				entry.Size = info.Size()
			}
		}
		entries = append(entries, entry)
	}
	return entries, more, nil
}
