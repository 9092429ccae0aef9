package outgoing

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// maxPath limits a path from the agent, in bytes.
const maxPath = 4096

// local converts a path from the agent to one relative to the workspace. It accepts absolute and relative paths, file: URLs,
// and paths that begin with ~.
func local(workspace, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "file://"); ok {
		unescaped, err := url.PathUnescape(rest)
		if err != nil {
			return "", wording.PathOutside
		}
		path = unescaped
	}
	if path == "" || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return "", wording.PathOutside
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", wording.PathOutside
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
		return "", wording.PathOutside
	}
	return inside(found)
}

// inside refuses a path that leaves its folder, and the folder itself.
func inside(path string) (string, error) {
	path = filepath.Clean(path)
	if !filepath.IsLocal(path) || path == "." {
		return "", wording.PathOutside
	}
	return path, nil
}
