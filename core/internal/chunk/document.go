package chunk

import (
	"math"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/sdk/chat"
)

// document is a text, without blanks at its end, with all the places where it may be split. The lists rise; fill drops what it has passed.
type document struct {
	text       string
	limit      chat.TextLimit
	lines      int // that a piece should have at most; zero: any number
	paragraphs bool
	start      int // of the first line that is not blank; the text's length if all are
	breaks     []brk
	blocks     []block
	spans      []span
	open       int // where a link or inline code begins whose end is not there; the text's length if there is none
	walked     int // characters looked at; the tests hold it to be linear
}

// brk is a break: a piece may end at end and the next one begin at next. Between the two are blanks only, or the closing
// line of a fence, which close stands for.
type brk struct {
	end, next int
	rank      rank
	close     string // what closes the fence that the break is in; empty: it is in none
}

// rank tells how good a break is; less is better.
type rank int

// The ranks. What is better than early counts as worse by early in the first quarter of a piece.
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
	beyond                             // what is better than beyond counts as worse by beyond where a piece has too many lines
)

// The ranks of breaks that are there for want of another.
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
	var ends []brk // of the last block; where the next piece begins is known when the next block does
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

// line returns the line that begins at a place, with its line break.
func (d *document) line(at int) string {
	l := d.text[at:]
	if i := strings.IndexByte(l, '\n'); i >= 0 {
		l = l[:i+1]
	}
	d.walked += len(l)
	return l
}

// after returns the rank of a break after the text: the given one, or the next worse where the text's last line leads to
// what follows, as headings and colons do.
func after(text string, r rank) rank {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.HasPrefix(last, "#") || strings.HasSuffix(last, ":") {
		return r + 1
	}
	return r
}

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
