package agent

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/folder"
)

// Apart keeps the file tools of a thread in its own worktree: they may not write into the repository's other working trees. The zero
// value forbids nothing. All paths are absolute.
type Apart struct {
	Worktree string // the thread's own
	Main     string // the folder that it is a copy of
	Others   string // the folder of all worktrees of the agent
	Home     string // the agent's workspace, whose memory and files of people stay open
}

// Allows reports whether a file may be written.
func (a Apart) Allows(path string) bool {
	if a == (Apart{}) {
		return true
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.Worktree, path)
	}
	path = unlinked(filepath.Clean(path))
	if in, ok := below(path, a.Home); ok && folder.Private(in) {
		return true
	}
	if _, own := below(path, a.Worktree); own {
		return true
	}
	_, ofMain := below(path, a.Main)
	_, ofAnother := below(path, a.Others)
	return !ofMain && !ofAnother
}

// below returns a path relative to a folder that it is in.
func below(path, folder string) (string, bool) {
	in, err := filepath.Rel(unlinked(folder), path)
	return in, err == nil && filepath.IsLocal(in)
}

// maxLinks bounds how many links to nowhere one path may follow, as Linux does.
const maxLinks = 40

// unlinked returns a path without links, as far as it exists.
func unlinked(path string) string {
	for range maxLinks {
		next := unlinkedOnce(path)
		if next == path {
			break
		}
		path = next
	}
	return path
}

// unlinkedOnce is unlinked up to the first link that leads nowhere.
func unlinkedOnce(path string) string {
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if _, err := os.Lstat(at); err == nil || at == filepath.Dir(at) { // a link that leads nowhere, which is written where it leads
			if to, err := os.Readlink(at); err == nil && !strings.Contains(to, "\x00") {
				if !filepath.IsAbs(to) {
					to = filepath.Join(filepath.Dir(at), to)
				}
				return filepath.Join(filepath.Clean(to), rest)
			}
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
