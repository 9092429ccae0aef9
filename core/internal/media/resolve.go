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

	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// A reason says why something is not sent or read, in words for the chat that follow its name.
type reason string

func (r reason) Error() string { return string(r) }

// Reasons for not opening a path of the agent.
const (
	errOutside reason = wording.PathOutside
	errLink    reason = wording.PathLink
	errNoFile  reason = wording.PathNoFile
	errMissing reason = wording.PathMissing
	errMoved   reason = wording.PathMoved
	errPrivate reason = wording.PathPrivate
	errNames   reason = wording.PathNames
	errOwn     reason = wording.PathOwn
)

// maxPath limits a path from the agent, in bytes.
const maxPath = 4096

// local converts a path from the agent to one relative to the workspace. It accepts absolute and relative paths, file: URLs,
// and paths that begin with ~.
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
	// The agent may use the path that a link to the workspace resolves to.
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

// inside refuses a path that leaves its folder, and the folder itself.
func inside(path string) (string, error) {
	path = filepath.Clean(path)
	if !filepath.IsLocal(path) || path == "." {
		return "", errOutside
	}
	return path, nil
}

// openFile opens a file of the agent. The path must not contain links. A file with several hard links is refused, because it
// may be one that the agent must not read. Concurrent changes by the agent cannot make the path leave the folder.
func openFile(folder *workspace.Folder, path string) (*workspace.File, error) {
	var before fs.FileInfo
	for at := 0; at < len(path); {
		end := strings.IndexByte(path[at+1:], filepath.Separator)
		if end < 0 {
			end = len(path)
		} else {
			end += at + 1
		}
		info, err := folder.Lstat(path[:end])
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil, errMissing
		case err != nil:
			return nil, fmt.Errorf("check a file of the agent: %w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, errLink
		case end == len(path) && !info.Mode().IsRegular():
			return nil, errNoFile
		}
		before, at = info, end
	}
	file, err := folder.Open(path)
	if errors.Is(err, workspace.ErrNoFile) {
		return nil, errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("open a file of the agent: %w", err)
	}
	if !os.SameFile(before, file.Info()) {
		return nil, errors.Join(errMoved, file.Close())
	}
	if names(file.Info()) > 1 {
		return nil, errors.Join(errNames, file.Close())
	}
	return file, nil
}
