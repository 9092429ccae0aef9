package session

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel is the maximum length of a label, in characters.
const maxLabel = 64

// ParseLabel validates a label for a session and trims spaces. The error may be shown to its author.
func ParseLabel(s string) (string, error) {
	label := strings.TrimSpace(s)
	switch n := utf8.RuneCountInString(label); {
	case n == 0:
		return "", errors.New("a label needs at least one character")
	case n > maxLabel:
		return "", fmt.Errorf("a label has at most %d characters, and this one has %d", maxLabel, n)
	case strings.ContainsAny(label, "\r\n\u0085\u2028\u2029"):
		return "", errors.New("a label is one line")
	case !utf8.ValidString(label) || strings.ContainsFunc(label, unprintable):
		return "", errors.New("a label cannot have control characters in it")
	}
	return label, nil
}

// unprintable reports whether a character would disturb the line that shows it. The joiner is part of many emoji.
func unprintable(r rune) bool {
	const joiner = '\u200d'
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != joiner && !unicode.Is(emojiTags, r)
}

// emojiTags are the characters that form flags of regions.
var emojiTags = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xe0020, Hi: 0xe007f, Stride: 1}}}
