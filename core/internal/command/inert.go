package command

import "strings"

// span is a range of a text, in bytes.
type span struct{ start, end int }

// codeSpans returns the parts of a Markdown text that are code, in order. Three backticks or more begin a block, which ends
// with as many or at the text's end, wherever on a line they stand: people are careless with them. One or two begin inline
// code where as many follow in the same paragraph.
func codeSpans(text string) []span {
	var spans []span
	for at := 0; ; {
		open := strings.IndexByte(text[at:], '`')
		if open < 0 {
			return spans
		}
		open += at
		ticks := run(text[open:])
		within := text[open+ticks:]
		if ticks < 3 {
			within = within[:paragraph(within)]
		}
		length, found := closing(within, ticks)
		switch {
		case found:
			at = open + ticks + length
		case ticks < 3:
			at = open + ticks
			continue
		default:
			at = len(text)
		}
		spans = append(spans, span{open, at})
	}
}

// closing finds the backticks that end code, and returns where they end.
func closing(text string, ticks int) (end int, found bool) {
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			return 0, false
		}
		n := run(text[at+next:])
		at += next + n
		if n == ticks || ticks >= 3 && n > ticks {
			return at, true
		}
	}
}

// run counts the backticks that a text begins with.
func run(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// paragraph is the length of a text's first paragraph.
func paragraph(text string) int {
	for at := 0; ; {
		line := strings.IndexByte(text[at:], '\n')
		if line < 0 {
			return len(text)
		}
		at += line + 1
		if rest := strings.TrimLeft(text[at:], " \t\r"); rest == "" || rest[0] == '\n' {
			return at
		}
	}
}
