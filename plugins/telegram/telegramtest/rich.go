package telegramtest

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// richMessage converts Markdown to a rich message as the Bot API describes it: blocks that contain formatted texts.
func richMessage(markdown string) map[string]any {
	w := richWriter{source: []byte(markdown)}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(w.source))
	return map[string]any{"blocks": w.blocks(document)}
}

// richWriter writes the blocks of a source.
type richWriter struct{ source []byte }

func (w richWriter) blocks(parent ast.Node) []any {
	list := []any{}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		list = append(list, w.block(n))
	}
	return list
}

func (w richWriter) block(n ast.Node) map[string]any {
	switch n := n.(type) {
	case *ast.Heading:
		return map[string]any{"type": "heading", "text": w.inline(n), "size": n.Level}
	case *ast.ThematicBreak:
		return map[string]any{"type": "divider"}
	case *ast.Blockquote:
		return map[string]any{"type": "blockquote", "blocks": w.blocks(n)}
	case *ast.FencedCodeBlock:
		block := map[string]any{"type": "pre", "text": w.lines(n)}
		if language := n.Language(w.source); language != nil {
			block["language"] = string(language)
		}
		return block
	case *ast.CodeBlock:
		return map[string]any{"type": "pre", "text": w.lines(n)}
	case *ast.List:
		return map[string]any{"type": "list", "items": w.items(n)}
	case *extast.Table:
		var rows []any
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			_, header := row.(*extast.TableHeader)
			rows = append(rows, w.cells(row, header))
		}
		return map[string]any{"type": "table", "cells": rows, "is_bordered": true}
	case *ast.HTMLBlock:
		return map[string]any{"type": "paragraph", "text": w.lines(n)}
	default:
		return map[string]any{"type": "paragraph", "text": w.inline(n)}
	}
}

func (w richWriter) items(list *ast.List) []any {
	var items []any
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		item := map[string]any{"label": "•", "blocks": w.blocks(n)}
		if list.IsOrdered() {
			item["label"], item["value"], item["type"] = strconv.Itoa(number)+".", number, "1"
			number++
		}
		if first := n.FirstChild(); first != nil {
			if box, ok := first.FirstChild().(*extast.TaskCheckBox); ok {
				item["has_checkbox"] = true
				if box.IsChecked {
					item["is_checked"] = true
				}
			}
		}
		items = append(items, item)
	}
	return items
}

func (w richWriter) cells(row ast.Node, header bool) []any {
	var cells []any
	for n := row.FirstChild(); n != nil; n = n.NextSibling() {
		cell := map[string]any{"text": w.inline(n), "align": "left", "valign": "top"}
		if header {
			cell["is_header"] = true
		}
		cells = append(cells, cell)
	}
	return cells
}

func (w richWriter) lines(n ast.Node) string {
	return strings.TrimSuffix(string(n.Lines().Value(w.source)), "\n")
}

// inline is the text within a node: a string where it has no looks, and else a list.
func (w richWriter) inline(parent ast.Node) any {
	var parts []any
	plain := func(s string) {
		if last := len(parts) - 1; last >= 0 {
			if before, ok := parts[last].(string); ok {
				parts[last] = before + s
				return
			}
		}
		parts = append(parts, s)
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		var looks string
		switch n := n.(type) {
		case *ast.Text:
			plain(string(n.Segment.Value(w.source)))
			if n.HardLineBreak() {
				plain("\n")
			} else if n.SoftLineBreak() {
				plain(" ")
			}
			continue
		case *ast.String:
			plain(string(n.Value))
			continue
		case *ast.AutoLink:
			parts = append(parts, map[string]any{"type": "url", "text": string(n.Label(w.source)), "url": string(n.URL(w.source))})
			continue
		case *ast.Link:
			parts = append(parts, map[string]any{"type": "url", "text": w.inline(n), "url": string(n.Destination)})
			continue
		case *ast.CodeSpan:
			looks = "code"
		case *extast.Strikethrough:
			looks = "strikethrough"
		case *ast.Emphasis:
			looks = map[int]string{1: "italic", 2: "bold"}[n.Level]
		default:
			continue
		}
		parts = append(parts, map[string]any{"type": looks, "text": w.inline(n)})
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts
}
