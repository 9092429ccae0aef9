package chunk

// block is a fenced code block, or a table: lines whose parts can only be read together with the first ones. Its body is
// the lines after these, without the blank lines and the closing line at the end.
type block struct {
	start, body, bodyEnd, end int

	closed bool // the block is complete

	open, close string // lines around a piece from its middle; open is empty if pieces of it are shown as text
}

// stretch is the range of a line, without trailing blanks.
type stretch struct{ start, end int }

// within reports whether a piece that begins or ends here needs the block's lines around it.
func (b block) within(at int) bool { return b.open != "" && b.body < at && at < b.bodyEnd }

// between returns the rank of a break between the lines of the block's body.
func (d *document) between(b block) rank {
	if d.limit.Unit.Length(d.text[b.start:b.end]) <= d.limit.Max {
		return inWholeBlock
	}
	return inBlock
}
