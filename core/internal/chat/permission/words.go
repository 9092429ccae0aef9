package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(wording.Visible(text)), " ") }

// line returns a text with a sign in place of line breaks and tabs.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return '�'
		}
		return r
	}, exact(text))
}

// exact shows a text that is no prose as it is, with a sign for what looks like a space and is another character to a program.
func exact(text string) string {
	const wide = '\u3000' // which does not look like a space
	return strings.Map(func(r rune) rune {
		if r != ' ' && r != wide && unicode.Is(unicode.Zs, r) {
			return '�'
		}
		return r
	}, wording.Visible(text))
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
