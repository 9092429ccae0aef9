package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner combines several emoji into one. It hides nothing.
const joiner = '\u200d'

// blanks are letters and symbols without a visible form.
var blanks = map[rune]bool{'\u034f': true, '\u115f': true, '\u1160': true, '\u17b4': true, '\u17b5': true, '\u2800': true, '\u3164': true, '\uffa0': true}

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(visible(text)), " ") }

// visible removes characters that could hide or reorder what is asked.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == joiner:
			return r
		case !unicode.IsGraphic(r) || blanks[r]:
			return '�'
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "�"))
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
