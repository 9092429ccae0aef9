package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Limits of a parser. The running time of goldmark's own parsers grows with the square of what is nested, or opened and not
// closed, in a block. Markup beyond a limit is shown as plain text; real texts do not have that much of it.
const (
	maxDepth   = 32   // nested blocks
	maxMarks   = 1000 // runs of emphasis in a block, and opening brackets
	maxTargets = 32   // incomplete link targets in a block
	maxLines   = 1000 // lines of a paragraph that may start with link definitions
)

// Quotes returns a parser of block quotes that limits their nesting. Parsers of untrusted text need it, as well as [Lists],
// [Links], [Emphasis], [Struck], [References] and [Tables], in place of goldmark's own.
func Quotes() parser.BlockParser { return shallow{parser.NewBlockquoteParser()} }

// Lists returns a parser of lists that limits their nesting.
func Lists() parser.BlockParser { return shallow{parser.NewListParser()} }

// shallow opens no block beyond maxDepth.
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

// Emphasis returns a parser of emphasis that limits its amount per block.
func Emphasis() parser.InlineParser { return delimiters{parser.NewEmphasisParser()} }

// Struck returns a parser of strikethrough that limits the amount of it, and of emphasis, per block.
func Struck() parser.InlineParser { return delimiters{extension.NewStrikethroughParser()} }

// delimiters parses at most maxMarks runs per block.
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

// Links returns a parser of links and images that limits its work per block.
func Links() parser.InlineParser { return links{parser.NewLinkParser()} }

// links parses a limited number of brackets per block.
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

// References returns a transformer that extracts link definitions from paragraphs, except from very long ones.
func References() parser.ParagraphTransformer {
	return references{parser.LinkReferenceParagraphTransformer}
}

// references skips very long paragraphs.
type references struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (r references) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= maxLines {
		r.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// effort counts the work done for a block.
type effort struct {
	block                         ast.Node
	delimiters, brackets, targets int
}

var effortKey = parser.NewContextKey()

// effortOn returns the effort of the block that is being parsed.
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
