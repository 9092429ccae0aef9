// Package folder knows the folders in which an agent may work besides its workspace.
package folder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// maxListed bounds the folders that are listed, and maxEntries the names of one folder that are looked at.
const (
	maxListed  = 100
	maxEntries = 1000
)

// private are the files and folders of a workspace that belong to one conversation or to the owner's memory.
var private = []string{"MEMORY.md", "memory", Inbound, Outbound}

// The folders of a workspace for the files that people send, and for those that the agent sends.
const (
	Inbound  = "inbound"
	Outbound = "outbound"
)

// Private reports whether a path in a workspace belongs to one conversation or to the owner's memory.
func Private(path string) bool {
	first, _, _ := strings.Cut(path, string(filepath.Separator))
	return slices.ContainsFunc(private, func(name string) bool { return strings.EqualFold(first, name) })
}

// Folders are the folders of one agent: those that fit its patterns now. A folder is none if it is a link, if it overlaps with the
// host's files or another agent's workspace, or if files of its own workspace that are private are in it.
type Folders struct {
	home     string
	patterns []string
	closed   []string // files and folders that none may contain or be in
}

// New returns the folders that fit patterns of absolute paths, as [filepath.Match] has them. Home is the agent's workspace; those of
// other agents are among the closed paths. A path that is closed and is the home, under any name, has no effect.
func New(home string, patterns, closed []string) *Folders {
	return &Folders{home: home, patterns: patterns, closed: closed}
}

// Folder is a folder with the shortest end of its path that no other folder of its agent has.
type Folder struct {
	Path string
	Name string
}

// List returns the folders by their names, the workspace first; at most 100.
func (f *Folders) List() []Folder {
	paths := []string{f.home}
	for _, pattern := range f.patterns {
		for _, path := range expand(pattern) {
			if path == f.home || !f.Has(path) || slices.Contains(paths, path) {
				continue
			}
			if paths = append(paths, path); len(paths) == maxListed {
				return named(paths)
			}
		}
	}
	slices.Sort(paths[1:])
	return named(paths)
}

// Find returns the folder that people mean by a name or a path; false: there is none, or more than one.
func (f *Folders) Find(name string) (Folder, bool) {
	name = strings.TrimSuffix(strings.TrimSpace(name), "/")
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(home, rest)
		}
	}
	if name == "" {
		return Folder{}, false
	}
	var found []Folder
	for _, one := range f.List() {
		if one.Path == name {
			return one, true
		}
		if strings.HasSuffix(one.Path, "/"+name) {
			found = append(found, one)
		}
	}
	if len(found) != 1 {
		return Folder{}, false
	}
	return found[0], true
}

// Has reports whether the agent may work in a folder now.
func (f *Folders) Has(path string) bool {
	if path == f.home {
		return true
	}
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !slices.ContainsFunc(f.patterns, func(pattern string) bool { return fits(pattern, path, real) }) {
		return false
	}
	home := resolve(f.home)
	if in, ok := strings.CutPrefix(real, home+"/"); within(home, real) || ok && Private(in) {
		return false
	}
	return !slices.ContainsFunc(f.closed, func(closed string) bool {
		closed = resolve(closed)
		return closed != home && (within(closed, real) || within(real, closed))
	})
}

// InRepository reports whether a folder is in a git repository, as far as a .git in it or above it says.
func InRepository(path string) bool {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
			return true
		}
	}
	return false
}

// resolve returns a path without links; the path itself, if it does not exist.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// fits reports whether a path fits a pattern, and still does without links: an agent may have put one where the pattern has a star.
func fits(pattern, path, real string) bool {
	if ok, _ := filepath.Match(pattern, path); !ok {
		return false
	}
	fixed := fixedPart(pattern)
	resolved, err := filepath.EvalSymlinks(fixed)
	if err != nil {
		return false
	}
	ok, _ := filepath.Match(resolved+strings.TrimPrefix(pattern, fixed), real)
	return ok
}

// within reports whether a path is a folder or in it.
func within(path, folder string) bool {
	return strings.HasPrefix(path+"/", folder+"/")
}

// fixedPart returns the folder above the first part of a pattern that may stand for several names; the pattern, if there is none.
func fixedPart(pattern string) string {
	for strings.ContainsAny(pattern, `*?[\`) {
		pattern = filepath.Dir(pattern)
	}
	return pattern
}

// expand returns the paths that may fit a pattern. The name of a hidden one fits only a pattern that begins with a dot.
func expand(pattern string) []string {
	paths := []string{fixedPart(pattern)}
	rest := strings.TrimPrefix(strings.TrimPrefix(pattern, paths[0]), "/")
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" {
			break
		}
		var next []string
		for _, path := range paths {
			for _, name := range names(path) {
				if fit, _ := filepath.Match(part, name); fit && (name[0] != '.' || part[0] == '.') {
					next = append(next, filepath.Join(path, name))
				}
			}
		}
		paths = next
	}
	return paths
}

// names returns the names in a folder; none, if it cannot be read.
func names(path string) (list []string) {
	folder, err := workspace.New(path).Open()
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _, _ := folder.List(".", maxEntries)
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// named gives the folders their names.
func named(paths []string) []Folder {
	list := make([]Folder, len(paths))
	for i, path := range paths {
		parts := strings.Split(path, "/")
		for n := 1; n <= len(parts); n++ {
			list[i] = Folder{path, strings.Join(parts[len(parts)-n:], "/")}
			alike := func(other string) bool { return other != path && strings.HasSuffix(other, "/"+list[i].Name) }
			if !slices.ContainsFunc(paths, alike) {
				break
			}
		}
	}
	return list
}
