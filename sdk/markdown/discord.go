package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/clawhost/clawhost/sdk/chat"
)

// ToDiscord converts Markdown to Discord's. Discord supports all of it except tables, which it shows as text, so each table
// becomes a code block with aligned columns; the padding is reduced if the text would exceed the limit. A source without
// tables is returned unchanged, and so is one that exceeds the limit anyway.
func ToDiscord(source string, limit chat.TextLimit) string {
	if !strings.Contains(source, "|") {
		return source
	}
	w := walker{source: []byte(normalise(source))}
	document := parse(w.source)
	for _, w.padding = range paddings {
		shown, found := w.tables(document)
		if !found {
			break
		}
		if limit.Fits(shown) {
			return shown
		}
	}
	return source
}

// tables returns the source with its tables as code blocks, or false if there are none.
func (w walker) tables(document ast.Node) (string, bool) {
	var out strings.Builder
	end := 0 // of the written part
	// The callback never returns an error.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		table, ok := n.(*extast.Table)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		if from, to, margin, ok := w.extent(table); ok && from >= end {
			out.Write(w.source[end:from])
			// A cell rarely contains a fence, and needs none.
			content := strings.ReplaceAll(w.table(table), "```", "'''")
			out.WriteString(margin + strings.ReplaceAll("```\n"+content+"\n```", "\n", "\n"+margin))
			end = to
		}
		return ast.WalkSkipChildren, nil
	})
	out.Write(w.source[end:])
	return out.String(), end > 0
}

// extent returns the range of a table's lines in the source, without the last line end, and the prefix of each of these
// lines: quote marks and list indents. It returns false if the prefix includes a list marker, which must stay.
func (w walker) extent(n *extast.Table) (from, to int, margin string, ok bool) {
	first, ok := w.rowStart(n.FirstChild())
	if !ok {
		return 0, 0, "", false
	}
	from = bytes.LastIndexByte(w.source[:first], '\n') + 1
	before := string(w.source[from:first])
	margin = before[:len(before)-len(strings.TrimLeft(before, " >"))]
	if bar := strings.TrimSpace(before[len(margin):]); bar != "" && bar != "|" {
		return 0, 0, "", false
	}
	to = w.lineEnd(w.lineEnd(first) + 1) // of the delimiter row
	if last := n.LastChild(); last != n.FirstChild() {
		at, found := w.rowStart(last)
		if !found {
			return 0, 0, "", false
		}
		to = w.lineEnd(at)
	}
	return from, to, margin, true
}

// rowStart returns the position of a row's first cell.
func (walker) rowStart(row ast.Node) (int, bool) {
	if row == nil || row.FirstChild() == nil || row.FirstChild().Lines().Len() == 0 {
		return 0, false
	}
	return row.FirstChild().Lines().At(0).Start, true
}

// lineEnd returns the end of the line at a position.
func (w walker) lineEnd(at int) int {
	at = min(at, len(w.source))
	if next := bytes.IndexByte(w.source[at:], '\n'); next >= 0 {
		return at + next
	}
	return len(w.source)
}
