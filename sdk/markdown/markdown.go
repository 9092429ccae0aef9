// Package markdown renders CommonMark with GitHub's extensions for chat networks that have no Markdown of their own, or
// not all of it. It is shared by channel plugins.
//
// [ToEntities] makes what Telegram takes: plain text, and the ranges of it that are shown in another way. Unlike
// Telegram's own markup languages that cannot fail to parse, whatever the source is. [ToText] makes plain text. Texts are
// measured in what the network counts, by a [chat.TextLimit].
package markdown

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// MaxEntities is how many entities [ToEntities] returns at most; Telegram ignores those beyond 100.
const MaxEntities = 100

// The types of entities that [ToEntities] makes, as the Bot API names them.
const (
	Bold          = "bold"
	Italic        = "italic"
	Strikethrough = "strikethrough"
	Code          = "code"
	Pre           = "pre"
	TextLink      = "text_link"
	Blockquote    = "blockquote"
)

// Entity is a range of a text that is shown in another way. Its JSON is a MessageEntity of Telegram's Bot API.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"` // in UTF-16 code units
	Length   int    `json:"length"` // in UTF-16 code units; never zero
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

func (e Entity) end() int { return e.Offset + e.Length }

// ToEntities renders Markdown as plain text and entities, sorted by offset with the outer before the inner. Entities
// are nested or disjoint, begin and end between characters, and keep Telegram's rules: code lies in nothing but quotes,
// quotes do not lie in each other, links lead to http, https and tg addresses only (others are written out). There are
// at most [MaxEntities]; of more, styles are dropped before links and code, and no text is.
//
// A source that is not blank gives a text that is not blank. Raw HTML is shown as it is written. Tables are laid out in
// columns, as straight as the text can have them and keep to the limit. That is all that the limit does: a text may exceed it.
func ToEntities(source string, limit chat.TextLimit) (string, []Entity) {
	text, entities := rendered(source, limit)
	return text, bounded(entities)
}

// rendered is ToEntities with all entities.
func rendered(source string, limit chat.TextLimit) (string, []Entity) {
	source = normalise(source)
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

// normalise leaves valid UTF-8 with plain line ends and without NUL.
func normalise(source string) string {
	source = strings.ToValidUTF8(source, "\uFFFD")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(source)
}

// bounded sorts entities and drops those beyond MaxEntities.
func bounded(entities []Entity) []Entity {
	if len(entities) > MaxEntities {
		slices.SortStableFunc(entities, func(a, b Entity) int { return rank(a.Type) - rank(b.Type) })
		entities = entities[:MaxEntities]
	}
	slices.SortStableFunc(entities, func(a, b Entity) int {
		switch {
		case a.Offset != b.Offset:
			return a.Offset - b.Offset
		case a.Length != b.Length:
			return b.Length - a.Length
		case a.Type == Blockquote: // Of two that cover the same, the quote is the outer.
			return -1
		case b.Type == Blockquote:
			return 1
		default:
			return 0
		}
	})
	return entities
}

// rank orders types by how much a reader misses them.
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
