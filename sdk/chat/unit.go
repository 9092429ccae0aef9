package chat

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Unit is the unit in which a network counts text.
type Unit int

// The units.
const (
	Bytes Unit = iota + 1
	Runes
	UTF16 // code units; a character beyond the basic plane is two
)

// Width returns the length of a character. An unknown unit counts bytes, which gives the greatest length.
func (u Unit) Width(r rune) int {
	switch u {
	case Runes:
		return 1
	case UTF16:
		return max(1, utf16.RuneLen(r))
	default:
		return max(1, utf8.RuneLen(r))
	}
}

// Length returns the length of a text.
func (u Unit) Length(text string) int {
	switch u {
	case Runes:
		return utf8.RuneCountInString(text)
	case UTF16:
		n := 0
		for _, r := range text {
			n += u.Width(r)
		}
		return n
	default:
		return len(text)
	}
}

// TextLimit is the maximum length of a message's text. The zero TextLimit means no limit.
type TextLimit struct {
	Max  int
	Unit Unit
}

// Fits reports whether a text is not longer than the limit.
func (l TextLimit) Fits(text string) bool { return l.Max <= 0 || l.Unit.Length(text) <= l.Max }
