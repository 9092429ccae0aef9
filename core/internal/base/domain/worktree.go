package domain

import "time"

// Worktree is a working copy of a git repository that a thread has for itself.
type Worktree struct {
	Session   string // the thread's
	Folder    string // in which the thread would work without it; empty: the agent's workspace
	Root      string // its own folder; no two worktrees have the same
	Place     string // in which the thread works: the root, or what Folder is of the repository
	Repo      string // the folder of the repository
	Branch    string // made for it
	Base      string // the branch at which it began; empty: the repository had none checked out
	Start     string // the commit at which it began
	MadeAt    time.Time
	Ready     bool      // a turn may have worked in it
	Snapshot  string    // the commit that it is restored from, once it is being removed; empty: it is not
	RemovedAt time.Time // zero: it exists
}
