package main

import (
	"strings"
	"time"
	"unicode"
)

const (
	blockTitle = "From memory (may be out of date):"
	minLine    = 60 // minimum bytes of a passage on a line
)

// block returns the text that is put before a prompt: a line for each passage, within the limit. A passage is one line, so
// that text of a passage cannot look like a line of the host.
func block(passages []candidate, limit int) string {
	var b strings.Builder
	b.WriteString(blockTitle)
	for _, c := range passages {
		whole := "- " + c.place() + ": " + printable(c.body)
		line := shorten(whole, limit-b.Len()-1)
		if len(line) < min(minLine, len(whole)) {
			break
		}
		b.WriteString("\n" + line)
	}
	if b.Len() == len(blockTitle) {
		return ""
	}
	return b.String()
}

// place returns the source of a passage.
func (c *candidate) place() string {
	place := c.origin.path
	if place == "" {
		place = "conversation of " + c.at.Format(time.DateOnly)
	}
	if c.heading != "" {
		place += " › " + c.heading
	}
	return printable(place)
}

// printable returns a text on one line, without control characters and direction overrides.
func printable(text string) string {
	return oneLine(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text))
}
