package agent

import "slices"

// maxChanged bounds how many files [Changes] tells apart.
const maxChanged = 10_000

// Changes is what the tools of a turn report of the files that they have changed. What a shell command does is not in it.
type Changes struct {
	Files   []string // their paths
	Added   int      // lines
	Removed int
	// Delegated is set if subagents have changed files, too. They do not report how.
	Delegated bool
}

// Some reports whether anything was changed.
func (c Changes) Some() bool { return len(c.Files) > 0 || c.Delegated }

// Add adds a change of a file.
func (c *Changes) Add(path string, added, removed int) {
	if !slices.Contains(c.Files, path) && len(c.Files) < maxChanged {
		c.Files = append(c.Files, path)
	}
	c.Added, c.Removed = c.Added+added, c.Removed+removed
}

// Join adds other changes.
func (c *Changes) Join(more Changes) {
	for _, path := range more.Files {
		c.Add(path, 0, 0)
	}
	c.Added, c.Removed, c.Delegated = c.Added+more.Added, c.Removed+more.Removed, c.Delegated || more.Delegated
}
