package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The length of a passage, in bytes: paragraphs are combined up to the minimum, and split if too long.
const (
	enoughPassage = 400
	maxPassage    = 800
	maxHeading    = 120
)

// passage is a part of a text that is recalled as a whole.
type passage struct {
	heading string // the headings above it; may be empty
	body    string
}

// chunk splits Markdown into passages. A heading starts a new one, and a passage includes the headings above it, such as
// "Home › Network".
func chunk(text string) []passage {
	var passages []passage
	var trail [6]string // the heading of each level
	var open []string   // the paragraphs of the current passage
	var size int
	flush := func() {
		if len(open) > 0 {
			passages = append(passages, passage{heading: join(trail[:]), body: strings.Join(open, "\n")})
		}
		open, size = nil, 0
	}
	for _, p := range paragraphs(text) {
		if p.level > 0 {
			flush()
			trail[p.level-1] = p.text
			clear(trail[p.level:])
			continue
		}
		for piece := range pieces(p.text) {
			if size > 0 && (size >= enoughPassage || size+len(piece) > maxPassage) {
				flush()
			}
			open = append(open, piece)
			size += len(piece)
		}
	}
	flush()
	return passages
}

// paragraph is text between empty lines, a list item or a heading.
type paragraph struct {
	text  string
	level int // of a heading, from 1; zero: not a heading
}

// paragraphs splits a text. Within code fences there are no headings or items.
func paragraphs(text string) []paragraph {
	var all []paragraph
	var lines []string
	flush := func() {
		if len(lines) > 0 {
			all = append(all, paragraph{text: strings.Join(lines, "\n")})
		}
		lines = nil
	}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		bare := strings.TrimSpace(line)
		level, title := heading(line)
		switch {
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fenced = !fenced
		case bare == "":
			flush()
			continue
		case fenced:
		case level > 0:
			flush()
			all = append(all, paragraph{text: title, level: level})
			continue
		case strings.HasPrefix(bare, "- "), strings.HasPrefix(bare, "* "), strings.HasPrefix(bare, "+ "):
			flush()
		}
		lines = append(lines, line)
	}
	flush()
	return all
}

// heading returns the level, from 1, and the text of a line that is a heading; zero for any other text.
func heading(line string) (level int, title string) {
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level == 0 || level > 6 || !strings.HasPrefix(rest, " ") {
		return 0, ""
	}
	return level, shorten(strings.TrimSpace(strings.TrimRight(rest, "# ")), maxHeading)
}

func join(trail []string) string {
	var titles []string
	for _, title := range trail {
		if title != "" {
			titles = append(titles, title)
		}
	}
	return strings.Join(titles, " › ")
}

// pieces yields a paragraph in parts of at most maxPassage bytes, split after a sentence or at least between words.
func pieces(paragraph string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for rest := strings.TrimSpace(paragraph); rest != ""; {
			end := cutPlace(rest)
			if !yield(strings.TrimSpace(rest[:end])) {
				return
			}
			rest = strings.TrimSpace(rest[end:])
		}
	}
}

// cutPlace returns the best place to split a long text.
func cutPlace(text string) int {
	if len(text) <= maxPassage {
		return len(text)
	}
	window := text[:runeStart(text, maxPassage)]
	for _, mark := range []string{"\n", ". ", "! ", "? ", "。", "！", "？", "; ", "；", ", ", "，", "、", " "} {
		if at := strings.LastIndex(window, mark); at >= maxPassage/2 {
			return at + len(mark)
		}
	}
	return len(window)
}

// runeStart returns the largest position up to limit that is between characters.
func runeStart(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}

// shorten cuts a text to limit bytes, including an ellipsis.
func shorten(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	if limit < len(ellipsis) {
		return ""
	}
	return strings.TrimSpace(text[:runeStart(text, limit-len(ellipsis))]) + ellipsis
}
