package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Change is what a tool reports of a file that it has changed.
type Change struct {
	Path    string
	Created bool
	Hunks   []Hunk // as in a unified diff; of a notebook, those of a cell's source
}

// Hunk is a changed part of a file.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"` // each begins with " ", "+", "-" or "\"
}

// ReadChange reads what Edit, Write or NotebookEdit reports of its use: the field tool_use_result of an event, or toolUseResult of a
// line of a transcript. False: it has changed nothing.
func ReadChange(result json.RawMessage) (Change, bool) {
	var r struct {
		Type     string `json:"type"` // of Write
		Path     string `json:"filePath"`
		Content  string `json:"content"`
		Hunks    []Hunk `json:"structuredPatch"`
		Notebook string `json:"notebook_path"`
		Old      string `json:"old_source"`
		New      string `json:"new_source"`
		Mode     string `json:"edit_mode"`
		Error    string `json:"error"`
	}
	if json.Unmarshal(result, &r) != nil {
		return Change{}, false
	}
	switch {
	case r.Notebook != "" && r.Error == "":
		if r.Mode == "delete" {
			r.New = ""
		}
		return Change{Path: r.Notebook, Hunks: whole(r.Old, r.New, false)}, true
	case r.Path != "" && r.Type == "create":
		return Change{Path: r.Path, Created: true, Hunks: whole("", r.Content, true)}, true
	case r.Path != "" && len(r.Hunks) > 0:
		return Change{Path: r.Path, Hunks: r.Hunks}, true
	default:
		return Change{}, false
	}
}

// whole is the hunk that replaces one text by another. File says that they end with a line break, or do not, as a file does.
func whole(before, after string, file bool) []Hunk {
	h := Hunk{}
	h.OldStart, h.OldLines = h.add("-", before, file)
	h.NewStart, h.NewLines = h.add("+", after, file)
	if len(h.Lines) == 0 {
		return nil
	}
	return []Hunk{h}
}

// add adds the lines of a text. It returns the number of the first one, zero without lines, and how many there are.
func (h *Hunk) add(mark, text string, file bool) (start, lines int) {
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		h.Lines = append(h.Lines, mark+line)
		if !ended && file {
			h.Lines = append(h.Lines, `\ No newline at end of file`)
		}
		lines++
	}
	return min(lines, 1), lines
}

// Count returns how many lines a change adds and removes.
func (c Change) Count() (added, removed int) {
	for _, h := range c.Hunks {
		for _, line := range h.Lines {
			switch {
			case strings.HasPrefix(line, "+"):
				added++
			case strings.HasPrefix(line, "-"):
				removed++
			}
		}
	}
	return added, removed
}

// Diff writes a change as a unified diff. Name is the file's.
func (c Change) Diff(name string) string {
	var b strings.Builder
	before := "a/" + name
	if c.Created {
		before = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ b/%s\n", before, name)
	for _, h := range c.Hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range h.Lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
