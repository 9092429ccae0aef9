package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/clawhost/clawhost/sdk/chat"
)

// ToDiscord returns Markdown as Discord shows it. Discord knows all of it but tables, of which the bars would be seen, so
// each becomes a block of code with columns, as straight as the text can have them and keep to the limit.
// A source without tables is returned as it is, and so is one that exceeds the limit in any case.
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

// tables returns the source with its tables as blocks of code; false: there are none.
func (w walker) tables(document ast.Node) (string, bool) {
	var out strings.Builder
	end := 0 // of what is written
	// The function returns no error, so there is none.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		table, ok := n.(*extast.Table)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		if from, to, margin, ok := w.extent(table); ok && from >= end {
			out.Write(w.source[end:from])
			// What would end the block is seldom in a cell, and no cell needs it.
			content := strings.ReplaceAll(w.table(table), "```", "'''")
			out.WriteString(margin + strings.ReplaceAll("```\n"+content+"\n```", "\n", "\n"+margin))
			end = to
		}
		return ast.WalkSkipChildren, nil
	})
	out.Write(w.source[end:])
	return out.String(), end > 0
}

// extent is where a table's lines are in the source, without the last line end, and what stands before it on each of them:
// the marks of quotes and the indent of lists. False: a list's own mark does, which must stay.
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
	to = w.lineEnd(w.lineEnd(first) + 1) // of the rule, which is no row
	if last := n.LastChild(); last != n.FirstChild() {
		at, found := w.rowStart(last)
		if !found {
			return 0, 0, "", false
		}
		to = w.lineEnd(at)
	}
	return from, to, margin, true
}

// rowStart is where a row's first cell is.
func (walker) rowStart(row ast.Node) (int, bool) {
	if row == nil || row.FirstChild() == nil || row.FirstChild().Lines().Len() == 0 {
		return 0, false
	}
	return row.FirstChild().Lines().At(0).Start, true
}

// lineEnd is where the line ends that a place is on.
func (w walker) lineEnd(at int) int {
	at = min(at, len(w.source))
	if next := bytes.IndexByte(w.source[at:], '\n'); next >= 0 {
		return at + next
	}
	return len(w.source)
}
