// Package markdown renders CommonMark with GitHub's extensions for chat networks that do not support Markdown, or only a
// part of it. It is shared by channel plugins.
//
// [ToEntities] produces plain text and formatted ranges, as Telegram takes them. Unlike Telegram's own markup languages,
// the result is always valid. [ToText] produces plain text. Texts are measured by a [chat.TextLimit], in the network's
// unit.
package markdown

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// MaxEntities is the maximum number of entities that [ToEntities] returns; Telegram ignores those beyond 100.
const MaxEntities = 100

// The types of entities that [ToEntities] returns, as named by the Bot API.
const (
	Bold          = "bold"
	Italic        = "italic"
	Strikethrough = "strikethrough"
	Code          = "code"
	Pre           = "pre"
	TextLink      = "text_link"
	Blockquote    = "blockquote"
)

// Entity is a formatted range of a text. Its JSON is a MessageEntity of Telegram's Bot API.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"` // in UTF-16 code units
	Length   int    `json:"length"` // in UTF-16 code units; never zero
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

func (e Entity) end() int { return e.Offset + e.Length }

// ToEntities renders Markdown as plain text and entities, sorted by offset, outer before inner. Entities are nested or
// disjoint, begin and end between characters, and follow Telegram's rules: code lies in nothing but quotes, quotes are not
// nested, links have http, https and tg addresses only (others are written out). There are at most [MaxEntities]: if there
// would be more, styles are dropped before links and code, and no text is lost.
//
// A non-blank source gives a non-blank text. Raw HTML is shown as it is written. Tables are aligned in columns; the padding
// is reduced if the text would exceed the limit. That is the limit's only effect: the text may still exceed it.
func ToEntities(source string, limit chat.TextLimit) (string, []Entity) {
	text, entities := rendered(source, limit)
	return text, bounded(entities)
}

// rendered is ToEntities without the limit on entities.
func rendered(source string, limit chat.TextLimit) (string, []Entity) {
	source = normalise(source)
	if line := strings.TrimRight(source, " "); unmarked(line) {
		return line, nil
	}
	return renderedMarkup(source, limit)
}

// unmarked reports whether a text is a single line that certainly has no markup, as most short messages are: parsing one costs
// more than all else that is done with it.
func unmarked(source string) bool {
	const anywhere, first = "\n\t\\`*_~[]<>&|@", "#+-=:0123456789"
	return source != "" && source == strings.TrimSpace(source) && !strings.ContainsRune(first, rune(source[0])) &&
		!strings.ContainsAny(source, anywhere) && !strings.Contains(source, "://") && !strings.Contains(source, "www.")
}

func renderedMarkup(source string, limit chat.TextLimit) (string, []Entity) {
	document := parse([]byte(source))
	var w *writer
	for _, padding := range paddings {
		w = &writer{}
		walker{source: []byte(source), out: w, padding: padding}.children(document)
		if limit.Fits(w.text.String()) || !strings.Contains(source, "|") {
			break
		}
	}
	if strings.TrimSpace(w.text.String()) == "" {
		return strings.TrimSpace(source), nil
	}
	return w.text.String(), w.done
}

// normalise returns valid UTF-8 with "\n" line ends and without NUL.
func normalise(source string) string {
	source = strings.ToValidUTF8(source, "\uFFFD")
	if !strings.ContainsAny(source, "\r\x00") {
		return source
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(source)
}

// bounded sorts entities and drops those beyond MaxEntities.
func bounded(entities []Entity) []Entity {
	if len(entities) > MaxEntities {
		slices.SortStableFunc(entities, func(a, b Entity) int { return rank(a.Type) - rank(b.Type) })
		entities = entities[:MaxEntities]
	}
	slices.SortStableFunc(entities, byPlace)
	return entities
}

// byPlace orders entities by offset, outer before inner.
func byPlace(a, b Entity) int {
	switch {
	case a.Offset != b.Offset:
		return a.Offset - b.Offset
	case a.Length != b.Length:
		return b.Length - a.Length
	case a.Type == b.Type:
		return 0
	case a.Type == Blockquote: // of two with the same range, the quote is the outer one
		return -1
	case b.Type == Blockquote:
		return 1
	default:
		return 0
	}
}

// rank orders types by importance for readers.
func rank(entityType string) int {
	switch entityType {
	case TextLink, Pre:
		return 0
	case Code, Blockquote:
		return 1
	default:
		return 2
	}
}
