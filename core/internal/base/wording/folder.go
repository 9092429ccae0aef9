package wording

import (
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/folder"
)

// Folders lists the folders in which an agent may work, for /cd. Now is the path of the one in which it works.
func Folders(list []folder.Folder, now string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "I work in %s here.\n", Code(now))
	for _, f := range list {
		fmt.Fprintf(&b, "\n- %s: %s", Code(f.Name), Code(f.Path))
	}
	if len(list) > 1 {
		b.WriteString("\n\n`/cd NAME` has me work in another one.")
	} else {
		b.WriteString("\n\nThere is no other folder. `folders` in the `agent` block of the config adds some.")
	}
	return b.String()
}

// FolderEntered tells a chat in which folder the agent works from now on.
func FolderEntered(path string, began bool) string {
	text := fmt.Sprintf("I work in %s here now", Code(path))
	if began {
		return text + ", in a new conversation. `/cd` lists the folders."
	}
	return text + ", in the conversation that we had there. `/cd` lists the folders."
}

// NoFolder answers a /cd that names no folder, or more than one.
func NoFolder(name string) string {
	return fmt.Sprintf("%s is not one of the folders, or more than one. `/cd` lists them.", Code(name))
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
