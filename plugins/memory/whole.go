package main

import (
	"fmt"
	"strings"
	"unicode"
)

// memoryFile is the file that a conversation is given as a whole.
const memoryFile = "MEMORY.md"

// memoryFile returns what a conversation is given of MEMORY.md, and the passages in that. It returns nothing if there is no
// such file, or if it is empty. A group with a memory of its own gets a sentence about that instead.
func (m *memory) memoryFile(v view) (string, map[passage]bool) {
	if v.folder != "" {
		return groupTold, nil
	}
	if m.config.MemoryFile == 0 {
		return "", nil
	}
	text, err := m.files.read("", memoryFile)
	if err != nil || strings.TrimSpace(text) == "" {
		return "", nil // the log says why when it is indexed
	}
	given, next := firstLines(text, m.config.MemoryFile)
	shown := map[passage]bool{}
	for _, p := range chunk(given) {
		shown[p] = true
	}
	if !v.private {
		given = redacted(given)
	}
	title := "MEMORY.md, the whole file as it is now:"
	if next > 0 {
		title = fmt.Sprintf("The beginning of MEMORY.md as it is now (cut; memory_get reads on from line %d):", next)
	}
	return title + "\n" + printableLines(given), shown
}

// firstLines returns the whole lines of a text within a limit, in bytes, and the number of the line that follows them; zero
// if that is all of it. Of a first line that is too long it returns the beginning.
func firstLines(text string, limit int) (first string, next int) {
	if text = strings.TrimRightFunc(text, unicode.IsSpace); len(text) <= limit {
		return text, 0
	}
	end := strings.LastIndexByte(text[:limit+1], '\n')
	if end < 0 {
		return shorten(text, limit), 1
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace), strings.Count(text[:end], "\n") + 2
}

// printableLines returns a text without control characters and direction overrides, in its lines.
func printableLines(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}
