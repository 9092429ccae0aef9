package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a range of text that should stay whole: inline code, a link or a URL.
type span struct{ start, end int }

// prose finds the spans and breaks of lines that are not code. Inline code and links may span several of them.
func (d *document) prose(start, end int) {
	d.walked += end - start
	first := len(d.spans)
	d.findSpans(start, end)
	spans := d.spans[first:]

	add := func(b brk) {
		for len(spans) > 0 && spans[0].end <= b.end {
			spans = spans[1:]
		}
		if len(spans) > 0 && spans[0].start < b.end {
			b.rank = inSpan
		}
		d.breaks = append(d.breaks, b)
	}
	lineStart := start
	lead := true                // only marks of headings, quotes or list items so far in the line
	ended, wide := false, false // a sentence has ended; in a script without a space after it
	for at := start; at < end; {
		r, width := utf8.DecodeRuneInString(d.text[at:end])
		if !blank(r) {
			switch {
			case strings.ContainsRune("。！？", r):
				ended, wide = true, true
			case strings.ContainsRune(".!?…", r):
				ended = true
			case !strings.ContainsRune(`"'”’)]*_»」』）`, r):
				if wide {
					add(brk{end: at, next: at, rank: sentence})
				}
				ended, wide = false, false
			}
			at += width
			lead = lead && at-lineStart <= 8 && strings.ContainsRune("-*+#>.)0123456789", r)
			continue
		}
		b := brk{end: at, rank: word}
		if ended {
			b.rank = sentence
		}
		broken := false
		for ; at < end; at += width {
			if r, width = utf8.DecodeRuneInString(d.text[at:end]); !blank(r) {
				break
			}
			if r == '\n' {
				broken = true
				b.rank, b.next = after(d.text[lineStart:b.end], line), at+1
				lineStart = b.next
			}
		}
		if !broken {
			b.next = at
		}
		if broken || !lead {
			add(b)
		}
		lead = lead || broken
		ended, wide = false, false
	}
}

// blank reports whether a line may be broken at the character. Non-breaking spaces are not blank.
func blank(r rune) bool {
	const noBreak, figure, narrowNoBreak = '\u00a0', '\u2007', '\u202f'
	return unicode.IsSpace(r) && r != noBreak && r != figure && r != narrowNoBreak
}

// findSpans appends the spans of a range of text. Of overlapping ones the outer is kept.
func (d *document) findSpans(start, end int) {
	runs := backticks(d.text, start, end)
	var brackets []int // open ones
	target := -1       // the bracket that opened the link whose target is being read
	depth := 0         // of parentheses in the target
	d.open = len(d.text)
	for at := start; at < end; at++ {
		switch c := d.text[at]; {
		case target >= 0:
			switch c {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					d.keep(span{target, at + 1})
					target = -1
				}
			case '\n':
				target = -1
			}
		case c == '\\':
			at++
		case c == '`':
			for runs[0].end <= at {
				runs = runs[1:]
			}
			if code := runs[0]; code.partner > 0 && code.start == at {
				d.keep(span{at, code.partner})
				at = code.partner - 1
			} else {
				if code.start == at {
					d.open = min(d.open, at)
				}
				at = code.end - 1
			}
		case c == '[':
			brackets = append(brackets, at)
		case c == ']' && len(brackets) > 0:
			opened := brackets[len(brackets)-1]
			brackets = brackets[:len(brackets)-1]
			if at+1 < end && d.text[at+1] == '(' {
				target, depth = opened, 0
			}
		case c == 'h' && (strings.HasPrefix(d.text[at:end], "https://") || strings.HasPrefix(d.text[at:end], "http://")):
			url := at
			for at < end && d.text[at] > ' ' && d.text[at] < utf8.RuneSelf && !strings.ContainsRune("<>\"`()[]\\", rune(d.text[at])) {
				at++
			}
			d.keep(span{url, at})
			at--
		}
	}
	if len(brackets) > 0 {
		d.open = min(d.open, brackets[0])
	}
	if target >= 0 {
		d.open = min(d.open, target)
	}
}

// keep appends a span and removes those that it covers.
func (d *document) keep(s span) {
	for len(d.spans) > 0 && d.spans[len(d.spans)-1].start >= s.start {
		d.spans = d.spans[:len(d.spans)-1]
	}
	d.spans = append(d.spans, s)
}

// run is a run of backticks. Its partner is the end of the next run of the same length, which closes inline code; zero:
// none.
type run struct{ start, end, partner int }

func backticks(text string, start, end int) []run {
	var runs []run
	for at := start; at < end; at++ {
		if text[at] != '`' {
			continue
		}
		r := run{start: at}
		for at < end && text[at] == '`' {
			at++
		}
		r.end = at
		runs = append(runs, r)
	}
	next := map[int]int{} // by length, from the right
	for i := len(runs) - 1; i >= 0; i-- {
		length := runs[i].end - runs[i].start
		runs[i].partner = next[length]
		next[length] = runs[i].end
	}
	return runs
}
