package outgoing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// own are the host's files and folders, such as its state. None of these files is sent, whatever path of the workspace
// leads to it.
type own struct {
	places    []string
	workspace string // may be within one of them
}

// has reports whether an open file is one of the host's, by device and inode.
//
// The config ensures that the workspace does not overlap with the host's files, no link in a path is followed, and files
// with several hard links are not sent. So if the workspace, the file and a place are on one mount, the file is not in that
// place. Otherwise, as behind a bind mount, the place is searched.
func (o own) has(file *os.File, info fs.FileInfo) (bool, error) {
	here, known := mountOf(file)
	if known {
		at, ok := mountAt(o.workspace)
		known = ok && at == here
	}
	for _, place := range o.places {
		if at, ok := mountAt(place); known && ok && at == here {
			continue
		}
		found, err := o.within(place, info)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// within reports whether a file is a place, or in it.
func (o own) within(place string, file fs.FileInfo) (bool, error) {
	workspace, err := os.Stat(o.workspace)
	if err != nil {
		return false, fmt.Errorf("find a file of the host: %w", err)
	}
	place, err = filepath.EvalSymlinks(place)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find a file of the host: %w", err)
	}
	found := false
	err = filepath.WalkDir(place, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil // it is gone, or not readable for the host either
		}
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case os.SameFile(info, workspace):
			return fs.SkipDir
		case os.SameFile(info, file):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("find a file of the host: %w", err)
	}
	return found, nil
}
