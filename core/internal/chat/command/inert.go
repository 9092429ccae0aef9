package command

import (
	"cmp"
	"slices"
	"strings"
)

// span is a range of a text, in bytes.
type span struct{ start, end int }

// inert returns the parts of a text in which directives do not count, in order: code and quotations. People write
// Markdown carelessly, and programs read it differently, so a part is code if either of two readings says so: by lines,
// or by backticks anywhere.
func inert(text string) []span {
	spans := append(inertLines(text), codeSpans(text)...)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	merged := spans[:0]
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.start <= merged[last].end {
			merged[last].end = max(merged[last].end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// inertLines returns the lines that are quoted or indented as code, and fenced blocks.
func inertLines(text string) (spans []span) {
	fence, within := "", false // the open fence; it is inside a quotation
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		end := at + len(line)
		content := strings.TrimLeft(line, " \t>＞*+-") // without the marks of quotes and lists
		marks := line[:len(line)-len(content)]
		quoted, run := strings.ContainsAny(marks, ">＞"), fenceRun(content)
		if within && !quoted {
			fence, within = "", false // It ends with the quotation.
		}
		switch {
		case fence != "":
			if quoted == within && strings.HasPrefix(run, fence) && strings.TrimSpace(content[len(run):]) == "" {
				fence = ""
			}
		case strings.HasPrefix(strings.TrimLeft(line, " "), ">>> "):
			return append(spans, span{at, len(text)}) // Discord quotes everything that follows.
		case run != "":
			fence, within = run, quoted
		case !quoted && !strings.HasPrefix(line, "    ") && !strings.Contains(marks, "\t"):
			at = end + 1
			continue
		}
		spans = append(spans, span{at, end})
		at = end + 1
	}
	return spans
}

// fenceRun returns the three or more backticks or tildes at the beginning of a line.
func fenceRun(line string) string {
	for _, mark := range []string{"`", "~"} {
		if run := line[:len(line)-len(strings.TrimLeft(line, mark))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}

// codeSpans returns the parts of a text that backticks make code. Three or more begin a block, which ends with as many or at
// the text's end, wherever on a line they stand. One or two begin inline code where as many follow in the same paragraph.
func codeSpans(text string) []span {
	var spans []span
	end := 0 // of the paragraph
	for at := 0; ; {
		open := strings.IndexByte(text[at:], '`')
		if open < 0 {
			return spans
		}
		open += at
		ticks := run(text[open:])
		within := text[open+ticks:]
		if ticks < 3 {
			if end <= open {
				end = open + paragraph(text[open:])
			}
			within = text[open+ticks : end]
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

// closing finds the backticks that end code, and returns the offset after them.
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
