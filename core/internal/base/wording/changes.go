package wording

import (
	"fmt"
	"strings"
)

// Changed is the line below an answer whose turn has changed files.
type Changed struct {
	Files     int
	Added     int // lines
	Removed   int
	Delegated bool // subagents have changed files, too
	Owner     bool // its reader may use /diff and /undo
}

// String says how much was changed.
func (c Changed) String() string {
	var said string
	switch {
	case c.Files == 0:
		said = "Subagents changed files."
	case c.Delegated:
		said = fmt.Sprintf("Changed %s: %s, besides what subagents changed.", plural(c.Files, "file"), lines(c.Added, c.Removed))
	default:
		said = fmt.Sprintf("Changed %s: %s.", plural(c.Files, "file"), lines(c.Added, c.Removed))
	}
	return said + c.hint()
}

// hint says how the changes are shown and taken back, to who may; otherwise it is empty.
func (c Changed) hint() string {
	if c.Owner && c.Files > 0 {
		return " `/diff` shows it, `/undo` takes it back."
	}
	return ""
}

func lines(added, removed int) string { return fmt.Sprintf("+%d −%d", added, removed) }

// Answers of /diff and /undo.
const (
	// NothingChanged answers where no turn has changed files.
	NothingChanged = "Claude has changed no files in this conversation, as far as its tools report. What shell commands do is not recorded."
	// DelegatedOnly answers where only subagents have changed files.
	DelegatedOnly = "In this conversation only subagents may have changed files. What they do is not recorded, and cannot be taken back."
	// UndoBusy answers while a turn runs.
	UndoBusy = "Claude is working here. Use `/undo` again when it has answered; `/stop` ends it now."
	// UndoChanged answers where the files change at this moment.
	UndoChanged = "The files are being changed at this moment, so nothing was restored. Use `/undo` again."
	// UndoNothing answers where everything is as it was.
	UndoNothing = "There is nothing to take back: the files are as they were before the last turn that changed any."
	// UndoTooOld answers where the CLI has not kept the files.
	UndoTooOld = "The files cannot be taken back: Claude Code has not kept them as they were before that turn. It keeps them for 30 days, if it is not set otherwise. `/diff` shows what was changed."
	// UndoOff answers where the CLI does not keep files.
	UndoOff = "The files cannot be taken back: this version of Claude Code cannot do it, or it is switched off by `CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING` in `claude.env`. `/diff` shows what was changed."
	// UndoUnavailable answers where Claude could not be started for it.
	UndoUnavailable = "Claude could not be started to take the files back, and nothing was changed. Try again later; the log has the reason."
	// UndoLabel is the button that agrees.
	UndoLabel = "Undo"
)

// UndoOptions are the arguments of /undo.
const UndoOptions = "Options: yes CODE. `/undo` alone shows the code and what would be taken back."

// maxListed is how many files a list names.
const maxListed = 20

// Undo is what /undo takes back, or would.
type Undo struct {
	Files     []string // those that are restored
	Others    []string // those of Files that this turn has not changed: something else has since
	Left      []string // what this turn has changed and is not restored
	Added     int      // lines, by taking back
	Removed   int
	Skipped   int    // files that are left, because a link leads to them
	Delegated bool   // subagents have changed files
	Code      string // that agrees
	Outdated  bool   // an agreement was for something else
}

// Preview says what would be taken back.
func (u Undo) Preview() string {
	var b strings.Builder
	if u.Outdated {
		b.WriteString("That button is for something else than what would be taken back now. ")
	}
	fmt.Fprintf(&b, "Restore %s to the state before the last turn that changed files (%s)?", plural(len(u.Files), "file"), lines(u.Added, u.Removed))
	b.WriteString(list(u.Files))
	if len(u.Others) > 0 {
		fmt.Fprintf(&b, "\n\n**Not only this turn's work would be lost**: %s changed since by something else.%s", are(len(u.Others)), list(u.Others))
	}
	b.WriteString("\n\n" + u.stays())
	fmt.Fprintf(&b, "\n\n%s restores the files.", Code("/undo yes "+u.Code))
	return b.String()
}

// Done says what was taken back.
func (u Undo) Done() string {
	said := "Restored " + plural(len(u.Files), "file") + "." + list(u.Files)
	if u.Skipped > 0 {
		said += fmt.Sprintf("\n\n%s left as it is, because a link leads there.", plural(u.Skipped, "file"))
	}
	return said + "\n\n" + u.stays()
}

// stays says what is not taken back.
func (u Undo) stays() string {
	said := "What shell commands did is not taken back."
	if u.Delegated {
		said = "What shell commands and subagents did is not taken back."
	}
	if len(u.Left) > 0 {
		said += fmt.Sprintf(" %s already as before, or cannot be restored:%s", are(len(u.Left)), list(u.Left))
	}
	return said
}

func are(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// list names files, one a line.
func list(files []string) string {
	var b strings.Builder
	for _, name := range files[:min(len(files), maxListed)] {
		b.WriteString("\n- " + Code(name))
	}
	if more := len(files) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n- … and %d more", more)
	}
	return b.String()
}

// DiffOther answers /diff with a file that the turn has not changed.
func DiffOther(name string, files []string) string {
	return fmt.Sprintf("The last turn that changed files has not changed %s. It has changed:%s", Code(name), list(files))
}

// Diff is what a turn has done to files.
type Diff struct {
	Output
	Changed

	Missing bool // the output lacks some of it
}

// String answers /diff.
func (d Diff) String() string {
	said := d.Changed.String()
	switch {
	case d.File > 0:
		said += fmt.Sprintf(" The changes (%s) are in the file.", size(d.File))
	case d.Cut:
		said += " The end of the changes:"
	}
	if d.Missing {
		said += " Large changes are left out."
	}
	if d.Text == "" || d.File > 0 {
		return said
	}
	return said + "\n\n" + Fenced(d.Text)
}
