package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds a quoted name, in runes.
const maxLabel = 64

// line puts a text on one line and removes invisible characters.
func line(text string) string {
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r), r == utf8.RuneError:
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, text)
	return strings.Join(strings.Fields(visible), " ")
}

// shorten returns the text in at most limit runes.
func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return strings.TrimRight(string(runes[:limit-1]), " ") + "…"
}

// label makes a name from a user safe to quote: one short line without brackets and quotation marks, which
// could imitate text of the host.
func label(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch r {
		case '[', '［', '【', '<':
			return '('
		case ']', '］', '】', '>':
			return ')'
		case '"', '`':
			return '\''
		default:
			return r
		}
	}, name)
	return shorten(line(plain), maxLabel)
}
