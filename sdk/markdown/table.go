package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxCells is the maximum number of cells of a table. A header of n columns over n short rows has n² cells, which the
// parser creates; a table with more stays plain text.
const maxCells = 5000

// paddings are the column widths up to which cells are padded, in characters, in the order in which they are tried; wider
// cells shift their row.
var paddings = []int{30, 16, 8, 0}

// Tables returns a transformer that turns paragraphs into tables as goldmark's extension does, except very large ones.
// Parsers of untrusted text need it.
func Tables() parser.ParagraphTransformer {
	return boundedTables{extension.NewTableParagraphTransformer()}
}

// boundedTables skips very large tables.
type boundedTables struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (t boundedTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, columns := node.Lines(), 0
	for i := range lines.Len() {
		segment := lines.At(i)
		columns = max(columns, bytes.Count(segment.Value(reader.Source()), []byte{'|'})+1)
	}
	if columns*lines.Len() > maxCells {
		return
	}
	blank, before := node.HasBlankPreviousLines(), node.PreviousSibling()
	parent := node.Parent()
	t.ParagraphTransformer.Transform(node, reader, pc)
	if node.Parent() == nil { // all of it became a table
		table := parent.FirstChild()
		if before != nil {
			table = before.NextSibling()
		}
		table.SetBlankPreviousLines(blank)
	}
}

// table formats a table for a monospaced font: aligned columns two spaces apart, a rule under the header.
func (w walker) table(n *extast.Table) string {
	var rows [][]string
	widths := make([]int, len(n.Alignments))
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil && len(cells) < len(widths); cell = cell.NextSibling() {
			content := w.cell(cell)
			widths[len(cells)] = max(widths[len(cells)], min(utf8.RuneCountInString(content), w.padding))
			cells = append(cells, content)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for i, cells := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(layOut(cells, widths, n.Alignments))
		if i == 0 {
			b.WriteString("\n" + rule(widths))
		}
	}
	return b.String()
}

// cell returns a cell's text, followed by the addresses of its links. Styles are lost, because code has none.
func (w walker) cell(n ast.Node) string {
	out := &writer{}
	walker{source: w.source, out: out}.children(n)
	shown := strings.ReplaceAll(out.text.String(), "\n", " ")
	for _, e := range out.done {
		if e.Type == TextLink && !strings.Contains(shown, e.URL) {
			shown += " (" + e.URL + ")"
		}
	}
	return shown
}

func layOut(cells []string, widths []int, alignments []extast.Alignment) string {
	var b strings.Builder
	for i, content := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		missing := max(0, widths[i]-utf8.RuneCountInString(content))
		left := 0
		switch alignments[i] {
		case extast.AlignRight:
			left = missing
		case extast.AlignCenter:
			left = missing / 2
		}
		b.WriteString(strings.Repeat(" ", left) + content + strings.Repeat(" ", missing-left))
	}
	return strings.TrimRight(b.String(), " ")
}

func rule(widths []int) string {
	dashes := make([]string, len(widths))
	for i, width := range widths {
		dashes[i] = strings.Repeat("─", max(1, width))
	}
	return strings.Join(dashes, "  ")
}
