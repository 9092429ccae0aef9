package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Break is a kind of place after which a text may be cut.
type Break int

// The breaks. Each includes the previous ones.
const (
	Paragraph Break = iota + 1
	Line
	Sentence
)

// Cut configures when an incomplete text is cut.
type Cut struct {
	// At is where to cut, once there is a piece of the size Min, in the limit's unit. A text that does not fit into a piece
	// is cut at the best place.
	At  Break
	Min int
	// Pause is set if the text is not expected to continue soon: then it is also cut after a sentence, including its last
	// one.
	Pause bool
	// Over is set if the text is complete: all of it is returned.
	Over bool
}

// Next returns the next piece of a text whose first sent bytes have been sent, and the number of sent bytes including the
// piece. An empty piece means that the text must grow first, or that nothing is left. A piece does not end in a link, or in
// an incomplete fenced block or table, unless the text does not fit otherwise; then the block is closed in it and reopened
// in the next, or the table's header is repeated. The text must be valid UTF-8 and only grow at its end.
func Next(text string, sent int, r Rule, c Cut) (piece string, end int) {
	// Most texts are one piece and need not be parsed.
	if whole := trimRight(text); sent <= 0 && r.Fits(whole) {
		switch {
		case c.Over:
			return whole[begin(whole):], len(whole)
		case r.Limit.Unit.Length(whole) < c.Min:
			return "", sent
		}
	}
	return newDocument(text, r).next(sent, r, c)
}

// next is [Next] for a text that may have to be split.
func (d *document) next(sent int, r Rule, c Cut) (piece string, end int) {
	start := d.resume(sent)
	if start == len(d.text) {
		return "", sent
	}
	p, _ := d.fill(start)
	switch {
	case p.end < len(d.text) || c.Over:
	case c.Pause && d.pauses() && r.Limit.Unit.Length(d.text[start:]) >= c.Min:
	default:
		b, found := d.last(start, r, c)
		if !found {
			return "", sent
		}
		p.end, p.close, p.body = b.end, b.close, d.text[start:b.end]
	}
	return p.open + p.body + p.close, p.end
}

// last returns the last permitted break of a text that fits into a piece.
func (d *document) last(start int, r Rule, c Cut) (best brk, found bool) {
	wanted := map[Break]rank{Paragraph: paragraph, Line: line, Sentence: sentence}[c.At]
	if c.Pause {
		wanted = sentence
	}
	used, from := 0, start
	for _, b := range d.breaks {
		if b.end <= start || b.rank < paragraph || b.rank > wanted || b.end > d.open || b.end == len(d.text) {
			continue
		}
		used += r.Limit.Unit.Length(d.text[from:b.end])
		from = b.end
		if used >= c.Min {
			best, found = b, true
		}
	}
	return best, found
}

// pauses reports whether the text may be cut at its end: after a sentence, and not within a link, code or a table.
func (d *document) pauses() bool {
	if d.open < len(d.text) || len(d.blocks) > 0 && d.blocks[len(d.blocks)-1].end == len(d.text) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(d.text, `"'”’)]*_»」』）`))
	return strings.ContainsRune(".!?…:。！？", last)
}

// Rest returns the rest of a text whose first sent bytes have been sent. If they end in a fenced block, it is reopened, and
// a table begins with its header again.
func Rest(text string, sent int) string {
	if sent <= 0 {
		return text
	}
	d := newDocument(text, Rule{})
	start := d.resume(sent)
	for _, b := range d.blocks {
		if b.within(start) {
			return b.open + d.text[start:]
		}
	}
	return d.text[start:]
}

// Closed returns an incomplete text in displayable form: an open fenced block at its end is closed, or removed if it has no
// code yet.
func Closed(text string) string {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return text
	}
	d := newDocument(text, Rule{})
	if len(d.blocks) == 0 {
		return text
	}
	f := d.blocks[len(d.blocks)-1]
	switch {
	case f.closed || f.end < len(d.text): // as every table is
		return text
	case f.close == "":
		return trimRight(text[:f.start])
	}
	// The last line may be the beginning of the closing one.
	code := d.text
	at := strings.LastIndexByte(code, '\n') + 1
	if run := strings.TrimSpace(f.close); strings.HasPrefix(run, strings.TrimSpace(code[at:])) {
		code = trimRight(code[:at])
	}
	if len(code) <= f.body {
		return trimRight(text[:f.start])
	}
	return code + f.close
}

// resume returns where the next piece begins after the sent bytes: at the next text, with the indentation of its line, and
// after the closing line of a block whose code was sent.
func (d *document) resume(sent int) int {
	if sent <= 0 {
		return d.start
	}
	at := d.something(min(sent, len(d.text)))
	for _, b := range d.blocks {
		if b.open != "" && b.closed && b.bodyEnd <= sent && at < b.end && at > b.start {
			return d.something(b.end)
		}
	}
	return at
}

// begin returns the start of the first line that is not blank; the text's length if all are.
func begin(text string) int {
	rest := strings.TrimLeftFunc(text, unicode.IsSpace)
	if rest == "" {
		return len(text)
	}
	return strings.LastIndexByte(text[:len(text)-len(rest)], '\n') + 1
}

// something returns the first position from there on that is not blank, or the start of its line.
func (d *document) something(from int) int {
	rest := d.text[from:]
	blanks := rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsSpace))]
	if len(blanks) == len(rest) {
		return len(d.text)
	}
	if i := strings.LastIndexByte(blanks, '\n'); i >= 0 {
		return from + i + 1
	}
	return from + len(blanks)
}
