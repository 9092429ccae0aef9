// Package chunk splits an answer into pieces that fit a network's limits.
package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Rule configures the length of pieces, and where they end.
type Rule struct {
	Limit chat.TextLimit // zero: no limit
	// Lines is the preferred maximum number of lines of a piece; zero: any number. Blocks that must stay whole take
	// precedence.
	Lines int
	// Paragraphs makes pieces end after paragraphs, as many as fit in each. Only a paragraph that does not fit is split.
	Paragraphs bool
}

// Split returns the text in pieces, none of them over the limit or blank.
//
// The text is Markdown. A piece ends, in this order of preference, after a paragraph, a line, a sentence or a word, if
// possible in the last three quarters of the limit. A fenced code block that fits into one piece is not split; a longer one
// is split between lines, closed in one piece and reopened in the next with the same fence and language. Tables are treated
// alike: each piece of one begins with the table's header. Links, URLs, inline code and words are only split if nothing
// else can be; a character stays together with its accents and modifiers, unless these alone exceed the limit.
//
// Only blanks at the ends of the pieces are lost, and the closing line of a fence may be rewritten. If the limit leaves no
// space for the fences or the header, code and tables are split like text; a character that is larger than the limit
// becomes "?". The running time is linear in the length of the text.
func Split(text string, r Rule) []string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if r.Fits(text) {
		return []string{text}
	}
	var out []string
	for _, p := range newDocument(text, r).pieces() {
		out = append(out, p.open+p.body+p.close)
	}
	return out
}

// Fits reports whether the text fits into one piece.
func (r Rule) Fits(text string) bool {
	return r.Limit.Fits(text) && (r.Lines <= 0 || strings.Count(text, "\n") < r.Lines)
}

// piece is text[start:end], with the lines of a block added around it.
type piece struct {
	start, end  int
	open, close string
	body        string // text[start:end], or "?" for a character that does not fit
}

// pieces returns all pieces.
func (d *document) pieces() []piece {
	var out []piece
	for at := d.start; at < len(d.text); {
		p, next := d.fill(at)
		if strings.TrimSpace(p.body) != "" {
			out = append(out, p)
		}
		at = next
	}
	return out
}

// fill returns the piece that begins at start, and the start of the next one. It visits all breaks within the limit and
// uses the best, the last of equals.
//
// A break early in the piece is used only if there is no better one after it. So either a piece is long, or the next ones
// run out of ranks to break at: the number of ranks limits how often a part of the text is visited.
func (d *document) fill(start int) (piece, int) {
	for len(d.breaks) > 0 && d.breaks[0].end <= start {
		d.breaks = d.breaks[1:]
	}
	for len(d.blocks) > 0 && d.blocks[0].end <= start {
		d.blocks = d.blocks[1:]
	}
	for len(d.spans) > 0 && d.spans[0].end <= start {
		d.spans = d.spans[1:]
	}
	breaks, blocks, spans := d.breaks, d.blocks, d.spans

	p := piece{start: start}
	used := 0
	if len(blocks) > 0 && blocks[0].within(start) {
		p.open = blocks[0].open
		used = d.limit.Unit.Length(p.open)
	}
	lines := 1
	best := brk{rank: none}
	consider := func(b brk) {
		if b.rank > atEnd && b.rank < early && d.early(used, lines) && !(d.paragraphs && b.rank == paragraph) {
			b.rank += early
		}
		if b.rank < beyond && d.lines > 0 && lines > d.lines {
			b.rank += beyond
		}
		if b.rank <= best.rank && used+len(b.close) <= d.limit.Max { // ASCII has the same length in every unit
			best = b
		}
	}

	var g graphemes
	for at := start; ; {
		for len(breaks) > 0 && breaks[0].end == at {
			consider(breaks[0])
			breaks = breaks[1:]
		}
		if at == len(d.text) || d.lines > 0 && lines > d.lines && best.rank < beyond {
			break
		}
		r, width := utf8.DecodeRuneInString(d.text[at:])
		boundary := g.boundary(r)
		for len(blocks) > 0 && blocks[0].end <= at {
			blocks = blocks[1:]
		}
		for len(spans) > 0 && spans[0].end <= at {
			spans = spans[1:]
		}
		if at > start {
			forced := brk{end: at, next: at, rank: inWord}
			switch {
			case !boundary:
				forced.rank = inCharacter
			case len(spans) > 0 && spans[0].start < at:
				forced.rank = inSpanWord
			}
			switch {
			case len(blocks) == 0 || blocks[0].open == "" || at <= blocks[0].start:
				consider(forced)
			case blocks[0].within(at):
				forced.close = blocks[0].close
				consider(forced)
			}
		}
		used += d.limit.Unit.Width(r)
		if r == '\n' {
			lines++
		}
		d.walked++
		if used > d.limit.Max {
			break
		}
		at += width
	}

	if best.rank == none {
		_, width := utf8.DecodeRuneInString(d.text[start:])
		p.end, p.body = start+width, "?"
		return p, p.end
	}
	p.end, p.close, p.body = best.end, best.close, d.text[start:best.end]
	return p, best.next
}

// early reports whether a piece of this size is too short to end.
func (d *document) early(used, lines int) bool {
	return used < d.limit.Max/4 && (d.lines <= 0 || 4*lines < d.lines)
}
