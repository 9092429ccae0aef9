package main

import (
	"cmp"
	"encoding/json"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// Limits for reading a rich message, above Telegram's own: 32,768 characters and 16 levels.
const (
	maxBlocks = 128 << 10 // bytes of the resulting text
	maxNested = 40
)

// A rich message has neither text nor caption, but the blocks of a document: paragraphs, lists, tables and more, which
// contain formatted texts. It arrives when a person forwards one, or replies to one, mostly one of the bot's own.

// richText returns the text of a rich message: its blocks, separated by empty lines. For media it names the kind.
// Unexpected content is no error, because an error would lose the message.
func richText(message any) string {
	return cut((&richReader{links: maxLinks}).blocks(field(message, "blocks"), "\n\n", 0), maxBlocks)
}

// richReader reads a rich message.
type richReader struct {
	links int // remaining bytes for addresses
}

// blocks returns the texts of the blocks that have any.
func (r *richReader) blocks(v any, between string, depth int) string {
	list, _ := v.([]any)
	var texts []string
	for _, b := range list {
		texts = append(texts, r.block(b, depth+1))
	}
	return joined(between, texts...)
}

func (r *richReader) block(v any, depth int) string {
	if depth > maxNested {
		return ""
	}
	caption := r.inline(field(v, "caption"), depth)
	text := joined("\n\n", r.inline(field(v, "text"), depth), r.blocks(field(v, "blocks"), "\n\n", depth))
	switch kind := word(v, "type"); kind {
	case "list":
		return r.list(field(v, "items"), depth)
	case "table":
		return joined("\n", caption, r.table(field(v, "cells"), depth))
	case "details":
		return joined("\n", r.inline(field(v, "summary"), depth), text)
	case "blockquote", "expandable_blockquote", "pullquote":
		return indented(joined("\n", text, r.inline(field(v, "credit"), depth)), "> ", "> ")
	case "mathematical_expression":
		return word(v, "expression")
	case "map":
		return joined(" ", mapText(field(v, "location")), caption)
	case "photo", "video", "animation", "audio", "document", "voice_note":
		return joined(" ", "["+strings.ReplaceAll(kind, "_", " ")+"]", caption)
	default: // unknown blocks have text, too
		return joined("\n", text, caption)
	}
}

func (r *richReader) list(v any, depth int) string {
	items, _ := v.([]any)
	var texts []string
	for _, item := range items {
		label := cmp.Or(strings.TrimSpace(word(item, "label")), "•")
		if field(item, "has_checkbox") == true {
			label = "☐"
			if field(item, "is_checked") == true {
				label = "☑"
			}
		}
		texts = append(texts, indented(r.blocks(field(item, "blocks"), "\n", depth), label+" ", "  "))
	}
	return joined("\n", texts...)
}

func (r *richReader) table(v any, depth int) string {
	rows, _ := v.([]any)
	var lines []string
	for _, row := range rows {
		cells, _ := row.([]any)
		var texts []string
		for _, cell := range cells {
			texts = append(texts, strings.ReplaceAll(r.inline(field(cell, "text"), depth), "\n", " "))
		}
		lines = append(lines, strings.TrimSpace(strings.Join(texts, " | ")))
	}
	return joined("\n", lines...)
}

// inline returns a formatted text: a string, a list of texts, or an object that contains another.
func (r *richReader) inline(v any, depth int) string {
	if depth > maxNested {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var text strings.Builder
		for _, part := range v {
			text.WriteString(r.inline(part, depth+1))
		}
		return text.String()
	}
	switch word(v, "type") {
	case "custom_emoji":
		return word(v, "alternative_text")
	case "mathematical_expression":
		return word(v, "expression")
	case "button":
		return r.inline(field(field(v, "button"), "text"), depth+1)
	case "url":
		text, address := r.inline(field(v, "text"), depth+1), word(v, "url")
		if behind := " (" + address + ")"; text != "" && isAddress(address) && bare(address) != bare(text) && len(behind) <= r.links {
			r.links -= len(behind)
			text += behind
		}
		return text
	}
	if v == nil {
		return ""
	}
	return r.inline(field(v, "text"), depth+1)
}

// mapText returns a map as a location.
func mapText(v any) string {
	var at tgbotapi.Location
	if raw, err := json.Marshal(v); err != nil || v == nil || json.Unmarshal(raw, &at) != nil {
		return "[map]"
	}
	return bracketed("map", place(at))
}

// field returns a field of an object; nil if it is missing or v is not an object.
func field(v any, name string) any {
	object, _ := v.(map[string]any)
	return object[name]
}

// word returns a string field.
func word(v any, name string) string {
	text, _ := field(v, name).(string)
	return text
}

// joined joins the texts that are not blank.
func joined(between string, texts ...string) string {
	var full []string
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			full = append(full, strings.Trim(text, "\n"))
		}
	}
	return strings.Join(full, between)
}

// indented returns a text with prefixes for its first line and for the others; empty if the text is empty.
func indented(text, first, others string) string {
	if text == "" {
		return ""
	}
	return first + strings.ReplaceAll(text, "\n", "\n"+others)
}
