package chunk

import "strings"

// marker is the opening of a fence.
type marker struct {
	indent string // at most three spaces
	run    string // at least three "`" or "~"
}

// opens reports whether a line opens a fence.
func opens(line string) (marker, bool) {
	rest := strings.TrimLeft(line, " ")
	m := marker{indent: line[:len(line)-len(rest)]}
	if rest == "" || len(m.indent) > 3 || rest[0] != '`' && rest[0] != '~' {
		return marker{}, false
	}
	info := strings.TrimLeft(rest, rest[:1])
	m.run = rest[:len(rest)-len(info)]
	if len(m.run) < 3 || m.run[0] == '`' && strings.Contains(info, "`") {
		return marker{}, false
	}
	return m, true
}

// closes reports whether a line closes the fence that the marker opened.
func (m marker) closes(line string) bool {
	rest := strings.TrimLeft(line, " ")
	return len(line)-len(rest) <= 3 && strings.HasPrefix(rest, m.run) && strings.Trim(trimRight(rest), m.run[:1]) == ""
}

// fence parses the fenced block that begins at a line. It returns the start of the line after the block, and the breaks at
// the block's end, without their next.
func (d *document) fence(start int, m marker) (next int, ends []brk) {
	opening := d.line(start)
	f := block{start: start, body: start + len(opening), close: "\n" + m.indent + m.run}
	f.bodyEnd, f.end = f.body, start+len(trimRight(opening))

	var lines []stretch // of the body, except blank ones
	for next = f.body; next < len(d.text) && !f.closed; {
		l := d.line(next)
		trimmed := trimRight(l)
		if f.closed = m.closes(l); f.closed {
			f.end = next + len(trimmed)
		} else if trimmed != "" {
			f.bodyEnd = next + len(trimmed)
			f.end = f.bodyEnd
			lines = append(lines, stretch{next, f.bodyEnd})
		}
		next += len(l)
	}

	// A piece must fit the fence's lines and some code. If half of it is not enough for the lines, they are not added.
	overhead := d.limit.Unit.Length(opening) + len(f.close)
	if len(lines) > 0 && overhead <= d.limit.Max/2 {
		f.open = trimRight(opening) + "\n"
	} else {
		f.close = ""
	}
	r := d.between(f)
	for i := 1; i < len(lines); i++ {
		d.breaks = append(d.breaks, brk{end: lines[i-1].end, next: lines[i].start, rank: r, close: f.close})
	}
	d.blocks = append(d.blocks, f)
	d.open = len(d.text)

	if f.closed && f.close != "" {
		// The closing line may be longer than ours, or follow many blank lines.
		ends = append(ends, brk{end: f.bodyEnd, rank: paragraph, close: f.close})
	}
	return next, append(ends, brk{end: f.end, rank: paragraph})
}
