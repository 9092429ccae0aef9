package chunk

// block is a fenced code block, or a table: lines of which a piece can only be read together with the first ones. Its body
// is what stands behind these, without the blanks and the closing line at the end.
type block struct {
	start, body, bodyEnd, end int

	closed bool // nothing is missing at its end

	open, close string // what begins and ends a piece in the middle of it; no open: pieces of it stand as text
}

// stretch is where a line is, without the blanks at its end.
type stretch struct{ start, end int }

// within tells whether a piece that begins or ends here needs the block's lines around it.
func (b block) within(at int) bool { return b.open != "" && b.body < at && at < b.bodyEnd }

// between returns the rank of a break between the lines of the block's body.
func (d *document) between(b block) rank {
	if d.limit.Unit.Length(d.text[b.start:b.end]) <= d.limit.Max {
		return inWholeBlock
	}
	return inBlock
}
