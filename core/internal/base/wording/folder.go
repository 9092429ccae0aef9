package wording

import (
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/folder"
)

// Folders lists the folders in which an agent may work, for /cd. Now is the path of the one in which it works, and worktree that of its
// copy of it; empty: it has none. Configured says that the config has patterns of folders. The owner is told where to add some.
func Folders(list []folder.Folder, now, worktree string, configured, owner bool) string {
	var b strings.Builder
	if worktree != "" {
		fmt.Fprintf(&b, "I work in %s here, a git worktree of %s for this thread.\n", Code(worktree), Code(now))
	} else {
		fmt.Fprintf(&b, "I work in %s here.\n", Code(now))
	}
	for _, f := range list {
		fmt.Fprintf(&b, "\n- %s: %s", Code(f.Name), Code(f.Path))
	}
	if len(list) > 1 {
		b.WriteString("\n\n`/cd NAME` has me work in another one.")
		return b.String()
	}
	b.WriteString("\n\nThere is no other folder.")
	switch {
	case configured:
		b.WriteString(" None that fits `folders` of the config may be worked in: links, workspaces of other agents and the host's own files may not.")
	case owner:
		b.WriteString(" `folders` in the `agent` block of the config adds some.")
	}
	return b.String()
}

// FolderEntered tells a chat in which folder the agent works from now on, and in which worktree of it; empty: in none.
func FolderEntered(path, worktree string, began bool) string {
	text := fmt.Sprintf("I work in %s here now", Code(path))
	if worktree != "" {
		text = fmt.Sprintf("I work in %s here now, a git worktree of %s", Code(worktree), Code(path))
	}
	if began {
		return text + ", in a new conversation. `/cd` lists the folders."
	}
	return text + ", in the conversation that we had there. `/cd` lists the folders."
}

// NoFolder answers a /cd that names no folder, or more than one.
func NoFolder(name string) string {
	return fmt.Sprintf("%s is not one of the folders, or more than one. `/cd` lists them.", Code(name))
}

// FolderOfAgent answers a /cd that names the workspace of another agent.
func FolderOfAgent(label string) string {
	return fmt.Sprintf("%s is the workspace of another agent. `/agent %s` has that one answer here.", Code(label), label)
}

// FolderNotOpen answers a person who may not change the folder.
const FolderNotOpen = "You may not change the folder here. Ask the owner of this bot."

// FolderGone tells a chat that its folder cannot be worked in.
func FolderGone(path string) string {
	return fmt.Sprintf("This conversation is about the folder %s, which does not exist any more, or is not mine to work in. `/cd` lists the folders. Go to one of them and write your message again.", Code(path))
}

// Entry is an entry of a folder.
type Entry struct {
	Name   string
	Folder bool
	Size   int64 // of a file, in bytes; -1: it is neither a file nor a folder
}

// FolderContent lists a folder, for /files.
func FolderContent(path string, entries []Entry, more bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", Code(path))
	for _, e := range entries {
		switch {
		case e.Folder:
			fmt.Fprintf(&b, "\n- %s", Code(e.Name+"/"))
		case e.Size < 0:
			fmt.Fprintf(&b, "\n- %s, not a file", Code(e.Name))
		default:
			fmt.Fprintf(&b, "\n- %s, %s", Code(e.Name), size(int(e.Size)))
		}
	}
	switch {
	case more:
		b.WriteString("\n- and more")
	case len(entries) == 0:
		b.WriteString("\nNothing is in it.")
	}
	return b.String()
}

// NotListed answers a /files that cannot be answered.
func NotListed(path string, why Reason) string {
	return fmt.Sprintf("%s %s.", Code(path), why)
}

// GetUsage says how /get is used.
const GetUsage = "Which file? `/get PATH` sends a file of the folder in which I work here. `/files` lists it."

// NoFilesHere answers a /get in a chat that takes no files.
const NoFilesHere = "This chat takes no files."
