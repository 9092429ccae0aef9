package markdown

import (
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxURL is the maximum length of a link's address, in bytes; longer ones are written out.
const maxURL = 2048

// walker renders a parsed document. It decides how each element of Markdown looks in a chat and leaves the markup to its
// writer.
type walker struct {
	source []byte
	out    *writer
	// marked is set after a list item's bullet was written: its first paragraph continues on the same line.
	marked bool
	// padding is the column width up to which a table's cells are padded.
	padding int
}

// documents is the shared parser, which is safe for concurrent use. Creating one takes five times as long as parsing a
// short answer.
var documents = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(Lists(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(Quotes(), 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(Links(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(Emphasis(), 500),
			util.Prioritized(Struck(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(References(), 100),
			util.Prioritized(Tables(), 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
})

// parse returns a document that several walkers may walk concurrently.
func parse(source []byte) ast.Node { return documents().Parse(text.NewReader(source)) }

func (w walker) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Type() == ast.TypeBlock {
			w.block(c)
			w.marked = false
		} else {
			w.inline(c)
		}
	}
}

func (w walker) block(n ast.Node) {
	if !w.marked || startsLine(n) {
		w.out.separate(distance(n))
	}
	switch n := n.(type) {
	case *ast.Heading:
		w.out.span(Entity{Type: Bold}, func() { w.children(n) })
	case *ast.FencedCodeBlock:
		w.out.verbatim(Entity{Type: Pre, Language: language(n.Language(w.source))}, w.lines(n))
	case *ast.CodeBlock:
		w.out.verbatim(Entity{Type: Pre}, w.lines(n))
	case *ast.HTMLBlock:
		w.out.write(w.lines(n))
		if n.HasClosure() {
			w.out.write(strings.TrimRight("\n"+string(n.ClosureLine.Value(w.source)), "\n"))
		}
	case *ast.Blockquote:
		w.out.span(Entity{Type: Blockquote}, func() { w.children(n) })
	case *ast.List:
		w.list(n)
	case *ast.ThematicBreak:
		w.out.write("———")
	case *extast.Table:
		w.out.verbatim(Entity{Type: Pre}, w.table(n))
	default:
		w.children(n)
	}
}

// startsLine reports whether a block cannot follow a list item's marker on the same line.
func startsLine(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindFencedCodeBlock, ast.KindCodeBlock, ast.KindList, extast.KindTable:
		return true
	default:
		return false
	}
}

// distance returns the number of line breaks before a block: as many as in the source, but at most one empty line.
func distance(n ast.Node) int {
	if n.HasBlankPreviousLines() {
		return 2
	}
	return 1
}

func (w walker) list(n *ast.List) {
	number := n.Start
	outer := w.out.indent
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil {
			w.out.separate(distance(item))
		}
		switch {
		case n.IsOrdered():
			w.out.write(strconv.Itoa(number) + ". ")
			number++
		case isTask(item):
			w.out.begin()
		default:
			w.out.write("• ")
		}
		if len(outer) < maxIndent {
			w.out.indent = outer + "   "
		}
		w.marked = true
		w.children(item)
		w.out.indent = outer
	}
}

// maxIndent is the maximum indent, in bytes: otherwise the output could grow with the square of the source's length.
const maxIndent = 12

// isTask reports whether an item begins with a check box, which replaces the bullet.
func isTask(item ast.Node) bool {
	first := item.FirstChild()
	return first != nil && first.FirstChild() != nil && first.FirstChild().Kind() == extast.KindTaskCheckBox
}

func (w walker) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n)
	case *ast.String:
		w.out.write(string(n.Value))
	case *ast.Emphasis:
		style := Italic
		if n.Level == 2 {
			style = Bold
		}
		w.out.span(Entity{Type: style}, func() { w.children(n) })
	case *extast.Strikethrough:
		w.out.span(Entity{Type: Strikethrough}, func() { w.children(n) })
	case *ast.CodeSpan:
		w.out.verbatim(Entity{Type: Code}, w.codeSpan(n))
	case *ast.Link:
		w.link(n, n.Destination)
	case *ast.Image:
		w.link(n, n.Destination)
	case *ast.AutoLink:
		w.out.write(string(n.Label(w.source)))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			w.out.write(string(segment.Value(w.source)))
		}
	case *extast.TaskCheckBox:
		if n.IsChecked {
			w.out.write("☑ ")
		} else {
			w.out.write("☐ ")
		}
	default:
		w.children(n)
	}
}

func (w walker) text(n *ast.Text) {
	value := n.Value(w.source)
	if n.IsRaw() {
		w.out.write(string(value))
	} else {
		w.out.write(unescape(value))
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.out.breaks++
	}
}

// codeSpan returns a code span's content, with line ends as spaces.
func (w walker) codeSpan(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(w.source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// link makes n's text a link, or writes the address out if the network would refuse it.
func (w walker) link(n ast.Node, destination []byte) {
	shown := strings.TrimPrefix(unescape(destination), "mailto:")
	if n.FirstChild() == nil {
		w.out.write(shown)
		return
	}
	if address := string(util.URLEscape(destination, true)); linkable(address) {
		w.out.span(Entity{Type: TextLink, URL: address}, func() { w.children(n) })
		return
	}
	w.children(n)
	if shown != "" {
		w.out.write(" (" + shown + ")")
	}
}

// linkable reports whether Telegram accepts the address. With other schemes, or hosts without a dot, it refuses the whole
// message. It finds e-mail addresses in the text by itself.
func linkable(address string) bool {
	if len(address) > maxURL {
		return false
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return strings.ContainsAny(strings.Trim(u.Hostname(), "."), ".:")
	case "tg":
		return u.Host != ""
	default:
		return false
	}
}

// lines returns a block's source without its last line end.
func (w walker) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(w.source))
	}
	return strings.TrimRight(b.String(), "\n")
}

// language returns a code block's language if it looks like one.
func language(info []byte) string {
	if len(info) > 32 {
		return ""
	}
	return unescape(info)
}
