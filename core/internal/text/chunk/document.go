package chunk

import (
	"math"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/sdk/chat"
)

// document is a text, without trailing blanks, with all the places where it may be split. The lists are sorted; fill drops
// entries that it has passed.
type document struct {
	text       string
	limit      chat.TextLimit
	lines      int // preferred maximum of a piece; zero: any number
	paragraphs bool
	start      int // of the first line that is not blank; the text's length if all are
	breaks     []brk
	blocks     []block
	spans      []span
	open       int // start of an incomplete link or inline code; the text's length without one
	walked     int // visited characters; the tests check that they grow linearly
}

// brk is a break: a piece may end at end and the next one begin at next. Between the two are only blanks, or the closing
// line of a fence, which close replaces.
type brk struct {
	end, next int
	rank      rank
	close     string // closes the fence around the break; empty: not in a fence
}

// rank is the quality of a break; less is better.
type rank int

// The ranks. In the first quarter of a piece, a rank below early is increased by early.
const (
	atEnd     rank = iota // of the text; early or not
	paragraph             // after one
	line                  // after one
	sentence              // after one
	word                  // after one
	inBlock               // between lines of code or a table that must be split
	early
)

// The ranks that are the same everywhere in a piece.
const (
	inWholeBlock rank = 2*early + iota // between lines of code or a table that fits into one piece
	beyond                             // in a piece with too many lines, a rank below beyond is increased by beyond
)

// The ranks of breaks of last resort.
const (
	inRow rank = 2*beyond + iota // between words of a table's row
	inWord
	inSpan      // between words of a link or of inline code
	inSpanWord  // within a URL, or within a word of a link or of inline code
	inCharacter // before an accent or a modifier
	none        // no break
)

// newDocument finds the places where the text may be split.
func newDocument(text string, r Rule) *document {
	text = trimRight(text)
	d := &document{text: text, limit: r.Limit, lines: r.Lines, paragraphs: r.Paragraphs, start: -1, open: len(text)}
	if d.limit.Max <= 0 {
		d.limit.Max = math.MaxInt
	}
	var ends []brk // of the last block; their next is the start of the next block
	begin := func(at int) {
		if d.start < 0 {
			d.start = at
		}
		for _, b := range ends {
			b.next = at
			d.breaks = append(d.breaks, b)
		}
	}
	textStart, textEnd := -1, 0
	endText := func() {
		if textStart < 0 {
			return
		}
		d.prose(textStart, textEnd)
		ends = []brk{{end: textEnd, rank: after(text[textStart:textEnd], paragraph)}}
		textStart = -1
	}
	for at := 0; at < len(text); {
		l := d.line(at)
		if m, ok := opens(l); ok {
			endText()
			begin(at)
			at, ends = d.fence(at, m)
			continue
		}
		if body, ok := d.header(at, l); ok {
			endText()
			begin(at)
			at, ends = d.table(at, body)
			continue
		}
		switch trimmed := trimRight(l); {
		case trimmed == "":
			endText()
		case textStart < 0:
			begin(at)
			textStart = at
			fallthrough
		default:
			textEnd = at + len(trimmed)
		}
		at += len(l)
	}
	endText()
	if len(ends) > 0 {
		ends[len(ends)-1].rank = atEnd
	}
	begin(len(text))
	return d
}

// line returns the line at a position, with its line break.
func (d *document) line(at int) string {
	l := d.text[at:]
	if i := strings.IndexByte(l, '\n'); i >= 0 {
		l = l[:i+1]
	}
	d.walked += len(l)
	return l
}

// after returns the rank of a break after the text: the given one, or the next worse one if the text's last line introduces
// what follows, as headings and colons do.
func after(text string, r rank) rank {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.HasPrefix(last, "#") || strings.HasSuffix(last, ":") {
		return r + 1
	}
	return r
}

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
