package wording

import (
	"fmt"
	"strings"
)

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
