package permission

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// remembers reports whether a memory flush writes to the memory, which it may without asking: MEMORY.md, or a file such as
// memory/2024-03-15.md. What lies there must be a file of its own, not a link to another one.
func remembers(workspace string, of domain.Origin, q agent.Question) bool {
	in := readInput(q.Input)
	if of != domain.OriginFlush || q.Tool != "Write" && q.Tool != "Edit" || q.Outside != "" || !in.plain {
		return false
	}
	path := in.text("file_path")
	name, err := filepath.Rel(workspace, path)
	// A relative path is relative to where Claude's shell is, and a path through ".." may lead through a link.
	if err != nil || !filepath.IsAbs(path) || path != filepath.Clean(path) {
		return false
	}
	folder, file := filepath.Split(name)
	switch folder {
	case "":
		return file == "MEMORY.md" && own(path, false)
	case "memory/":
		return filepath.Ext(file) == ".md" && !strings.HasPrefix(file, ".") && own(filepath.Dir(path), true) && own(path, false)
	default:
		return false
	}
}

// own reports whether a path is free, or a folder, or else a file that has no other name.
func own(path string, folder bool) bool {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		return false
	case folder:
		return info.IsDir()
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && ok && stat.Nlink == 1
}
