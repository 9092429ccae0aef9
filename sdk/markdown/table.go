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

// maxCells is how many cells a table has at most. A header of n columns over n short rows has n² cells, which a parser
// makes all; beyond this a table stays the text that it is.
const maxCells = 5000

// paddings are the widest columns to which cells are padded, in characters; wider cells push their row. A narrower one is
// for a text that would otherwise be too long.
var paddings = []int{30, 16, 8, 0}

// Tables returns a transformer that makes tables of paragraphs as the one of the parser's extension does, but for those that
// are too big. Parsers of texts that others write need it.
func Tables() parser.ParagraphTransformer {
	return boundedTables{extension.NewTableParagraphTransformer()}
}

// boundedTables makes tables of paragraphs that are not too big.
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
	if node.Parent() == nil { // All of it became a table.
		table := parent.FirstChild()
		if before != nil {
			table = before.NextSibling()
		}
		table.SetBlankPreviousLines(blank)
	}
}

// table lays a table out for a monospaced font: aligned columns two spaces apart, a rule under the header.
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

// cell is a cell's text, with the addresses of links behind it. What it looks like is lost: code shows no styles.
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
