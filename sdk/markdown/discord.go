package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/clawhost/clawhost/sdk/chat"
)

// ToDiscord converts Markdown to Discord's. Discord supports all of it except tables, which it shows as text, and code with
// three backticks in a row in it, which it ends there. So each table becomes a code block with aligned columns; the padding is
// reduced if the text would exceed the limit. In code, a character without width stands between the backticks. A source
// without these is returned unchanged, and so is one that exceeds the limit anyway.
func ToDiscord(source string, limit chat.TextLimit) string {
	if !strings.Contains(source, "|") && !strings.Contains(source, "```") {
		return source
	}
	w := walker{source: []byte(normalise(source))}
	document := parse(w.source)
	for _, w.padding = range paddings {
		shown, found := w.discord(document)
		if !found {
			break
		}
		if limit.Fits(shown) {
			return shown
		}
	}
	return source
}

// discord returns the source with its tables as code blocks and without fences in code, or false if there is neither.
func (w walker) discord(document ast.Node) (string, bool) {
	var out strings.Builder
	end := 0 // of the written part
	// The callback never returns an error.
	replace := func(from, to int, with string) {
		if from >= end {
			out.Write(w.source[end:from])
			out.WriteString(with)
			end = to
		}
	}
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *extast.Table:
			if from, to, margin, ok := w.extent(n); ok {
				replace(from, to, margin+strings.ReplaceAll("```\n"+broken(w.table(n), 2)+"\n```", "\n", "\n"+margin))
			}
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock:
			w.refence(n, replace)
		case *ast.CodeSpan:
			w.respan(n, replace)
		}
		return ast.WalkContinue, nil
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

// refence rewrites a code block that contains a fence so that Discord shows all of it as one block.
func (w walker) refence(n *ast.FencedCodeBlock, replace func(from, to int, with string)) {
	lines := n.Lines()
	if !strings.Contains(w.lines(n), "```") {
		return
	}
	first, last := lines.At(0), lines.At(lines.Len()-1)
	if end := bytes.LastIndexByte(w.source[:first.Start], '\n'); end >= 0 {
		begin := bytes.LastIndexByte(w.source[:end], '\n') + 1
		w.mark(begin, end, replace)
	}
	for i := range lines.Len() {
		segment := lines.At(i)
		replace(segment.Start, segment.Stop, broken(string(w.source[segment.Start:segment.Stop]), 2))
	}
	if begin := w.lineEnd(last.Start) + 1; begin < len(w.source) {
		end := w.lineEnd(begin)
		if closing := bytes.Trim(w.source[begin:end], " \t\r>"); len(closing) >= 3 && len(bytes.Trim(closing, "`~")) == 0 {
			w.mark(begin, end, replace)
		}
	}
}

// mark replaces the fence in a line by three backticks.
func (w walker) mark(begin, end int, replace func(from, to int, with string)) {
	line := w.source[begin:end]
	at := bytes.IndexAny(line, "`~")
	if at < 0 {
		return
	}
	info := string(bytes.TrimLeft(line[at:], string(line[at:at+1])))
	if strings.Contains(info, "`") {
		info = ""
	}
	replace(begin+at, end, "```"+info)
}

// respan rewrites a code span that contains a fence so that Discord shows all of it as code.
func (w walker) respan(n *ast.CodeSpan, replace func(from, to int, with string)) {
	first, ok := n.FirstChild().(*ast.Text)
	last, _ := n.LastChild().(*ast.Text)
	if !ok || last == nil || !strings.Contains(w.codeSpan(n), "```") {
		return
	}
	open := bytes.TrimRight(w.source[:first.Segment.Start], " \n>")
	width := len(open) - len(bytes.TrimRight(open, "`"))
	replace(len(open)-width, len(open), "``")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			replace(t.Segment.Start, t.Segment.Stop, broken(string(w.source[t.Segment.Start:t.Segment.Stop]), 1))
		}
	}
	if at := bytes.Index(w.source[last.Segment.Stop:], bytes.Repeat([]byte("`"), width)); at >= 0 {
		replace(last.Segment.Stop+at, last.Segment.Stop+at+width, "``")
	}
}

// noWidth is the zero width space.
const noWidth = "\u200b"

// broken inserts zero width spaces, so that at most so many backticks stand in a row.
func broken(code string, most int) string {
	row := strings.Repeat("`", most)
	for strings.Contains(code, row+"`") {
		code = strings.ReplaceAll(code, row+"`", row+noWidth+"`")
	}
	return code
}
