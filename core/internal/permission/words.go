package permission

import (
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/wording"
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
	}, wording.Visible(text))
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
