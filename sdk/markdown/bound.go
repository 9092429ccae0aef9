package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// The bounds of what a parser makes of a text. The work of goldmark's own parsers grows with the square of what is nested, or
// opened and not closed, in a block. What is beyond a bound stays the text that it is; nobody writes so much of it.
const (
	maxDepth   = 32   // blocks in each other
	maxMarks   = 1000 // runs of emphasis in a block, and opening brackets
	maxTargets = 32   // beginnings of link targets in a block that come to nothing
	maxLines   = 1000 // lines of a paragraph that may begin with definitions of links
)

// Quotes returns a parser of block quotes that bounds how deep they nest. Parsers of texts that others write need it, and
// [Lists], [Links], [Emphasis], [Struck], [References] and [Tables], in place of those that goldmark has.
func Quotes() parser.BlockParser { return shallow{parser.NewBlockquoteParser()} }

// Lists returns a parser of lists that bounds how deep they nest.
func Lists() parser.BlockParser { return shallow{parser.NewListParser()} }

// shallow opens no block that lies in too many others.
type shallow struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// Emphasis returns a parser of emphasis that bounds how much of it is in a block.
func Emphasis() parser.InlineParser { return delimiters{parser.NewEmphasisParser()} }

// Struck returns a parser of what is struck through that bounds how much of it, and of emphasis, is in a block.
func Struck() parser.InlineParser { return delimiters{extension.NewStrikethroughParser()} }

// delimiters takes only so many runs of a block.
type delimiters struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (d delimiters) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	e := effortOn(parent, pc)
	if e.delimiters == maxMarks {
		return nil
	}
	n := d.InlineParser.Parse(parent, block, pc)
	if n != nil {
		e.delimiters++
	}
	return n
}

// Links returns a parser of links and images that bounds how much is looked for in a block.
func Links() parser.InlineParser { return links{parser.NewLinkParser()} }

// links takes only so many brackets of a block.
type links struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (l links) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	e := effortOn(parent, pc)
	if e.brackets == maxMarks || e.targets == maxTargets {
		return nil
	}
	line, _ := block.PeekLine()
	n := l.InlineParser.Parse(parent, block, pc)
	switch {
	case line[0] != ']' && n != nil:
		e.brackets++
	case n == nil && len(line) > 1 && (line[1] == '(' || line[1] == '['):
		e.targets++
	}
	return n
}

// CloseBlock implements parser.CloseBlocker.
func (l links) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, ok := l.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}

// References returns a transformer that takes the definitions of links out of paragraphs that are not too long.
func References() parser.ParagraphTransformer {
	return references{parser.LinkReferenceParagraphTransformer}
}

// references takes them out of paragraphs that are not too long.
type references struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (r references) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= maxLines {
		r.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// effort is what was done for a block.
type effort struct {
	block                         ast.Node
	delimiters, brackets, targets int
}

var effortKey = parser.NewContextKey()

// effortOn is what was done for the block that is being parsed.
func effortOn(block ast.Node, pc parser.Context) *effort {
	e, ok := pc.Get(effortKey).(*effort)
	if !ok {
		e = &effort{}
		pc.Set(effortKey, e)
	}
	if e.block != block {
		*e = effort{block: block}
	}
	return e
}
