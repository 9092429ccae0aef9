package chunk

import (
	"strings"
	"unicode/utf8"
)

// Part is a stretch of the text that a piece holds.
type Part struct{ Start, End int }

// Parts returns which parts of the text the pieces hold, for a text over the limit, and how many characters were
// looked at for it.
func Parts(text string, r Rule) (parts []Part, work int) {
	d := newDocument(strings.ToValidUTF8(text, string(utf8.RuneError)), r)
	for _, p := range d.pieces() {
		parts = append(parts, Part{p.start, p.end})
	}
	return parts, d.walked
}

// NextOfDocument is [Next] without its short way for a text that is one piece.
func NextOfDocument(text string, sent int, r Rule, c Cut) (piece string, end int) {
	return newDocument(text, r).next(sent, r, c)
}
