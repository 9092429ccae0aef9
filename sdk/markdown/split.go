package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Part is a part of a split text, with its entities.
type Part struct {
	Text     string
	Entities []Entity
}

// Split splits a text and its entities into parts that fit the limit, at a line end or space if there is one in a part's
// second half. An entity that crosses a split continues in the next part. White space around a split is dropped and no part
// is blank. Without a limit there is one part.
func Split(text string, entities []Entity, limit chat.TextLimit) []Part {
	if limit.Max <= 0 {
		limit = chat.TextLimit{Max: len(text), Unit: chat.Bytes}
	}
	limit.Max = max(limit.Max, limit.Unit.Width(utf8.MaxRune)) // at least one character
	var parts []Part
	offset := 0 // of the rest, in UTF-16 code units
	for rest := text; rest != ""; {
		blank := rest[:len(rest)-len(strings.TrimLeft(rest, " \n"))]
		if len(parts) == 0 {
			blank = ""
		}
		rest, offset = rest[len(blank):], offset+len(blank)
		cut := cutAt(rest, limit)
		part := strings.TrimRight(rest[:cut], " \n")
		if part != "" {
			parts = append(parts, Part{Text: part, Entities: within(entities, offset, offset+chat.UTF16.Length(part))})
		}
		offset += chat.UTF16.Length(rest[:cut])
		rest = rest[cut:]
	}
	return parts
}

// cutAt returns the end of the first part of s, in bytes.
func cutAt(s string, limit chat.TextLimit) int {
	line, space, units := 0, 0, 0
	for i, r := range s {
		if units+limit.Unit.Width(r) > limit.Max {
			switch {
			case r == '\n':
				return i
			case line > 0:
				return line
			case r == ' ':
				return i
			case space > 0:
				return space
			default:
				return i
			}
		}
		units += limit.Unit.Width(r)
		if units > limit.Max/2 {
			switch r {
			case '\n':
				line = i + utf8.RuneLen(r)
			case ' ':
				space = i + utf8.RuneLen(r)
			}
		}
	}
	return len(s)
}

// within returns the part of each entity between two offsets, relative to the first.
func within(entities []Entity, from, to int) []Entity {
	var inside []Entity
	for _, e := range entities {
		begin, end := max(e.Offset, from), min(e.end(), to)
		if begin < end {
			e.Offset, e.Length = begin-from, end-begin
			inside = append(inside, e)
		}
	}
	return inside
}
