package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// OpenPlain opens a file in a folder in which the agent or a program writes. The path must not contain links. A file with several hard
// links is refused, because it may be one that the agent must not read. Concurrent changes cannot make the path leave the folder. The
// error is a [wording.Reason] if the file is not one to open.
func OpenPlain(folder *workspace.Folder, path string) (*workspace.File, error) {
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
			return nil, wording.PathMissing
		case err != nil:
			return nil, fmt.Errorf("check a file of the agent: %w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, wording.PathLink
		case end == len(path) && !info.Mode().IsRegular():
			return nil, wording.PathNoFile
		}
		before, at = info, end
	}
	file, err := folder.Open(path)
	if errors.Is(err, workspace.ErrNoFile) {
		return nil, wording.PathMoved
	}
	if err != nil {
		return nil, fmt.Errorf("open a file of the agent: %w", err)
	}
	if !os.SameFile(before, file.Info()) {
		return nil, errors.Join(wording.PathMoved, file.Close())
	}
	if names(file.Info()) > 1 {
		return nil, errors.Join(wording.PathNames, file.Close())
	}
	return file, nil
}

// names returns the number of hard links of a file.
func names(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // its type is another one on other systems
	}
	return 1
}
