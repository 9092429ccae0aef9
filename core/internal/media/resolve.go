package media

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A reason says why something is not sent or read, in words that are fit for the chat behind its name.
type reason string

func (r reason) Error() string { return string(r) }

// Why a path of the agent's is not opened.
const (
	errOutside reason = "is outside of my working folder"
	errLink    reason = "is a link, or behind one"
	errNoFile  reason = "is not a file"
	errMissing reason = "is not there"
	errMoved   reason = "changed while I looked at it"
	errPrivate reason = "is not for this chat"
	errNames   reason = "has a second name (a hard link)"
	errOwn     reason = "belongs to the host"
)

// maxPath bounds a path that the agent names, in bytes.
const maxPath = 4096

// local makes a path that the agent names one that is relative to the workspace. It takes absolute ones, ones relative to
// the workspace, and both of them as file: URLs and with ~.
func local(workspace, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "file://"); ok {
		unescaped, err := url.PathUnescape(rest)
		if err != nil {
			return "", errOutside
		}
		path = unescaped
	}
	if path == "" || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return "", errOutside
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errOutside
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return inside(path)
	}
	found, err := relative(workspace, path)
	if err == nil {
		return found, nil
	}
	// The agent may name the folder that a link to the workspace leads to.
	real, linkErr := filepath.EvalSymlinks(workspace)
	if linkErr != nil {
		return "", err
	}
	return relative(real, path)
}

func relative(workspace, path string) (string, error) {
	found, err := filepath.Rel(workspace, path)
	if err != nil {
		return "", errOutside
	}
	return inside(found)
}

// inside refuses a path that leaves the folder that it is relative to, and the folder itself.
func inside(path string) (string, error) {
	path = filepath.Clean(path)
	if !filepath.IsLocal(path) || path == "." {
		return "", errOutside
	}
	return path, nil
}

// openFile opens a file of the agent's. Nothing in the path may be a link, and only a regular file is opened: a pipe would
// hold the host up. The file must have no second name: it may be one that the agent must not read. Whatever the agent
// changes meanwhile, the root is not left.
func openFile(root *os.Root, path string) (*os.File, fs.FileInfo, error) {
	var before fs.FileInfo
	for at := 0; at < len(path); {
		end := strings.IndexByte(path[at+1:], filepath.Separator)
		if end < 0 {
			end = len(path)
		} else {
			end += at + 1
		}
		info, err := root.Lstat(path[:end])
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil, nil, errMissing
		case err != nil:
			return nil, nil, fmt.Errorf("look at a file of the agent's: %w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, nil, errLink
		case end == len(path) && !info.Mode().IsRegular():
			return nil, nil, errNoFile
		}
		before, at = info, end
	}
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a file of the agent's: %w", err)
	}
	after, err := file.Stat()
	if err != nil || !os.SameFile(before, after) || !after.Mode().IsRegular() {
		return nil, nil, errors.Join(errMoved, err, file.Close())
	}
	if names(after) > 1 {
		return nil, nil, errors.Join(errNames, file.Close())
	}
	return file, after, nil
}

// openDir opens a folder of the agent's that the host puts there. Where there is something else by now it is [errNoFile]: a pipe
// would hold the host up.
func openDir(root *os.Root, path string) (*os.File, error) {
	dir, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return nil, errors.Join(errNoFile, err, dir.Close())
	}
	return dir, nil
}
