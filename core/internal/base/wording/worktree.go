package wording

import (
	"fmt"
	"strings"
	"time"
)

// Worktree is a worktree of a thread, for /worktree.
type Worktree struct {
	Name        string
	Here        bool   // of the thread in which it is asked for
	Busy        bool   // a turn works in it, or it is being made or removed
	Unready     bool   // no turn has worked in it
	Gone        bool   // somebody else has deleted its folder
	Why         string // git cannot say what it has; empty: it has
	RemovedAt   time.Time
	Until       time.Time // it can be restored; only of a removed one
	Uncommitted int       // files
	Ahead       int       // commits that are nowhere else
	Ignored     int       // files and folders
	Unfinished  string    // an operation of git; empty: none
}

// Kept says what the worktree has that nothing else has; empty: nothing.
func (w Worktree) Kept() string {
	var has []string
	if w.Uncommitted > 0 {
		has = append(has, plural(w.Uncommitted, "file")+" not committed")
	}
	if w.Ahead > 0 {
		has = append(has, plural(w.Ahead, "commit")+" in no other branch")
	}
	if w.Unfinished != "" {
		has = append(has, "an unfinished "+w.Unfinished)
	}
	return strings.Join(has, ", ")
}

func (w Worktree) state() string {
	switch kept := w.Kept(); {
	case !w.RemovedAt.IsZero():
		return "removed, can be restored until " + w.Until.Format("2 January")
	case w.Unready:
		return "not made yet"
	case w.Gone:
		return "its folder was deleted; the next message there makes it again"
	case w.Why != "":
		return "cannot be read: " + Code(w.Why)
	case kept != "":
		return kept
	default:
		return "nothing to lose"
	}
}

// Worktrees lists the worktrees of an agent, for /worktree.
func Worktrees(list []Worktree) string {
	if len(list) == 0 {
		return NoWorktrees
	}
	var b strings.Builder
	b.WriteString("**Worktrees of threads**\n")
	for _, w := range list {
		fmt.Fprintf(&b, "\n- %s: %s", Code(w.Name), w.state())
		if w.Busy {
			b.WriteString("; in use")
		}
		if w.Here {
			b.WriteString(" (this thread)")
		}
	}
	b.WriteString("\n\n" + WorktreeUsage)
	return b.String()
}

// Answers of /worktree.
const (
	NoWorktrees = "No thread has a worktree of its own. `worktree = \"thread\"` in the `agent` block of the config gives one to each new thread whose folder is in a git repository."

	WorktreeUsage = "`/worktree merge NAME` merges one into the branch that it began at, `/worktree remove NAME` removes one that has nothing to lose, and `/worktree restore NAME` makes it again. Without a name, this thread's is meant."

	// WorktreeOptions are the arguments.
	WorktreeOptions = "Options: merge, remove or restore, and the name of a worktree. `/worktree` alone lists them."

	WorktreeNoneHere = "This thread has no worktree. `/worktree` lists those of others."
	WorktreeInUse    = "Claude is working in this worktree, or it is being changed. Try again when that has ended; `/stop` ends it now."
	WorktreeAway     = "The worktree of this thread does not exist now. Your next message makes it again, as `/worktree restore` does."
	WorktreeThere    = "This worktree exists. There is nothing to restore."
	WorktreeRemoved  = "This worktree was removed already. `/worktree restore NAME` makes it again."
	WorktreeNoBase   = "This worktree began at a commit and not at a branch, so there is none to merge it into. Merge it by git."
	WorktreeChanged  = "The worktree has changed since. `/worktree remove NAME` shows it as it is now."

	WorktreeRemoveLabel = "Remove"
)

// SnapshotCommit is the message of the commit that keeps the files of a removed worktree.
const SnapshotCommit = "Uncommitted files of a removed worktree"

// MergeCommit is the message of the commit that merges a worktree's branch.
func MergeCommit(branch, into string) string {
	return fmt.Sprintf("Merge branch '%s' into %s", branch, into)
}

// NoWorktree answers a name that no worktree has.
func NoWorktree(name string) string {
	return fmt.Sprintf("%s is not one of the worktrees. `/worktree` lists them.", Code(name))
}

// WorktreeFailed tells a thread that its worktree cannot be made.
func WorktreeFailed(why string) string {
	return fmt.Sprintf("The worktree of this thread cannot be made, so your message was not answered: %s. Write it again when that is put right.", strings.TrimSuffix(why, "."))
}

// WorktreeCannot tells why git does not do what was asked for.
func WorktreeCannot(what, why string) string {
	return fmt.Sprintf("The worktree cannot be %s: %s.", what, strings.TrimSuffix(why, "."))
}

// WorktreeKept answers where a worktree has what would be lost, or what git cannot merge.
func WorktreeKept(w Worktree, what string) string {
	return fmt.Sprintf("%s is not %s, as it has %s. Ask me there to commit my work, or to complete it.", Code(w.Name), what, w.Kept())
}

// WorktreeUnmerged answers a removal of commits that are nowhere else.
func WorktreeUnmerged(w Worktree) string {
	return fmt.Sprintf("%s is not removed, as it has %s. Merge it with `/worktree merge %s`, or push it.", Code(w.Name), w.Kept(), w.Name)
}

// WorktreePreview says what removing a worktree removes.
func WorktreePreview(w Worktree, command string) string {
	text := fmt.Sprintf("%s can go: its commits are in another branch, and all of its files are committed.", Code(w.Name))
	if w.Ignored > 0 {
		text += fmt.Sprintf(" What git ignores there, such as what was built, is deleted for good: %s.", plural(w.Ignored, "path"))
	}
	return text + fmt.Sprintf("\n\n%s removes it. It can be restored for 30 days.", Code(command))
}

// WorktreeGone says that a worktree was removed.
func WorktreeGone(name string) string {
	return fmt.Sprintf("%s is removed. A message to its thread, or `/worktree restore %s`, makes it again, for 30 days.", Code(name), name)
}

// WorktreeRestored says that a worktree was made again.
func WorktreeRestored(name string) string { return Code(name) + " is there again." }

// WorktreeMerged says what a merge has done.
func WorktreeMerged(name, base string, commits int) string {
	if commits == 0 {
		return fmt.Sprintf("%s has all commits of %s.", Code(base), Code(name))
	}
	return fmt.Sprintf("Merged %s of %s into %s.", plural(commits, "commit"), Code(name), Code(base))
}

// WorktreeConflict says that people, or Claude, must do a merge.
func WorktreeConflict(name, base string, files []string) string {
	const most = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not merged, as %s has changed the same places since:\n", Code(name), Code(base))
	for _, file := range files[:min(len(files), most)] {
		b.WriteString("\n- " + Code(OneLine(file, 200)))
	}
	if more := len(files) - most; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	fmt.Fprintf(&b, "\n\nAsk me in that thread to merge %s into my branch and to resolve the conflicts.", Code(base))
	return b.String()
}
