package markdown

import (
	"strings"
	"unicode/utf8"
)

// Part is a piece of a split text with the entities that lie in it.
type Part struct {
	Text     string
	Entities []Entity
}

// Split cuts a text and its entities into parts of at most limit UTF-16 code units (at least 2), at line ends or spaces
// where there is one in a part's second half. An entity that crosses a cut goes on in the next part. White space around a
// cut is dropped and no part is blank.
func Split(text string, entities []Entity, limit int) []Part {
	limit = max(limit, 2)
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
			parts = append(parts, Part{Text: part, Entities: within(entities, offset, offset+utf16Len(part))})
		}
		offset += utf16Len(rest[:cut])
		rest = rest[cut:]
	}
	return parts
}

// cutAt is where the first part of s ends, in bytes.
func cutAt(s string, limit int) int {
	line, space, units := 0, 0, 0
	for i, r := range s {
		if units+utf16Width(r) > limit {
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
		units += utf16Width(r)
		if units > limit/2 {
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

// within is the part of each entity that lies between two offsets, counted from the first.
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
