package main

import (
	"bytes"
	"errors"
	"html"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	htmlrenderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/clawhost/clawhost/sdk/markdown"
)

// newMarkdown returns a renderer whose HTML is safe to insert into a page. HTML in the source is shown as text, because the
// parsers for it are left out. Links lead to web and mail addresses only, and images are not loaded, because their
// addresses could leak data to a server.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(markdown.Lists(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(markdown.Quotes(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(markdown.Links(), 200),
				util.Prioritized(parser.NewAutoLinkParser(), 300),
				util.Prioritized(markdown.Emphasis(), 500),
				util.Prioritized(markdown.Struck(), 500),
			),
			parser.WithParagraphTransformers(util.Prioritized(markdown.References(), 100), util.Prioritized(markdown.Tables(), 200)),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0), util.Prioritized(safeLinks{}, 1000)),
		)),
		goldmark.WithExtensions(
			extension.Linkify,
			extension.TaskList,
		),
		goldmark.WithRendererOptions(htmlrenderer.WithHardWraps(), renderer.WithNodeRenderers(
			util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
			util.Prioritized(extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), 500))),
	)
}

// maxHTML limits the HTML of a message, in bytes. A table of many short rows can become a thousand times its text.
const maxHTML = 1 << 20

// render returns Markdown as HTML, or the source if its HTML is too large.
func render(md goldmark.Markdown, source string) string {
	var out limitedBuffer
	if err := md.Convert([]byte(source), &out); err != nil || out.Len() == 0 {
		return "<pre>" + html.EscapeString(source) + "</pre>"
	}
	return out.String()
}

// limitedBuffer is a buffer limited to maxHTML.
type limitedBuffer struct{ bytes.Buffer }

// Write fails once the buffer is full.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxHTML {
		return 0, errors.New("too much HTML")
	}
	return b.Buffer.Write(p)
}

// safeLinks makes links open in a new tab, turns images into links, and links to anything but web and mail addresses into
// plain text.
type safeLinks struct{}

// Transform changes the document in place.
func (safeLinks) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var nodes []ast.Node
	// The visitor never returns an error.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n.(type) {
			case *ast.Link, *ast.Image, *ast.AutoLink:
				nodes = append(nodes, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range nodes {
		switch n := n.(type) {
		case *ast.Link:
			if safeURL(n.Destination) {
				openApart(n)
			} else {
				unwrap(n)
			}
		case *ast.Image:
			if safeURL(n.Destination) && !insideLink(n) {
				link := ast.NewLink()
				link.Destination = n.Destination
				link.Title = n.Title
				replace(n, link)
				openApart(link)
			} else {
				unwrap(n)
			}
		case *ast.AutoLink:
			if n.AutoLinkType == ast.AutoLinkEmail || safeURL(n.URL(reader.Source())) {
				openApart(n)
			} else {
				n.Parent().ReplaceChild(n.Parent(), n, ast.NewString(n.Label(reader.Source())))
			}
		}
	}
}

// safeURL reports whether a link is allowed. It checks the unescaped source: an address whose scheme is disguised by
// escapes is refused.
func safeURL(dest []byte) bool {
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if len(dest) > len(scheme) && bytes.EqualFold(dest[:len(scheme)], []byte(scheme)) {
			return true
		}
	}
	return false
}

func openApart(n ast.Node) {
	n.SetAttributeString("target", []byte("_blank"))
	n.SetAttributeString("rel", []byte("noopener noreferrer"))
}

func insideLink(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink {
			return true
		}
	}
	return false
}

// replace replaces n by another node, with n's children. A node without any is shown as "image".
func replace(n, other ast.Node) {
	if n.FirstChild() == nil {
		n.AppendChild(n, ast.NewString([]byte("image")))
	}
	for n.FirstChild() != nil {
		other.AppendChild(other, n.FirstChild())
	}
	n.Parent().ReplaceChild(n.Parent(), n, other)
}

// unwrap replaces a node by its children.
func unwrap(n ast.Node) {
	for n.FirstChild() != nil {
		n.Parent().InsertBefore(n.Parent(), n, n.FirstChild())
	}
	n.Parent().RemoveChild(n.Parent(), n)
}
