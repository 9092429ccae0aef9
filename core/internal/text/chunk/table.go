package chunk

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// delimiter matches the line below a table's header, possibly within a quote.
var delimiter = lazyregexp.New(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t\r\n]*$`)

// header reports whether a table begins at a line, and where its rows do. In an incomplete text the delimiter may be
// incomplete.
func (d *document) header(start int, line string) (body int, ok bool) {
	if !strings.Contains(line, "|") || start+len(line) == len(d.text) {
		return 0, false
	}
	next := d.line(start + len(line))
	body = start + len(line) + len(next)
	if body == len(d.text) && strings.Trim(next, " \t>|:-") == "" {
		return body, true
	}
	return body, strings.Contains(next, "|") && delimiter().MatchString(next) && cells(line) == cells(next)
}

// cells returns how many cells a line of a table has.
func cells(line string) int {
	line = strings.Trim(strings.ReplaceAll(line, `\|`, ""), " \t\r\n>")
	return strings.Count(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") + 1
}

// table parses the table that begins at a line, with rows from body on. It returns the start of the line after it, and the
// break at its end, without its next.
func (d *document) table(start, body int) (next int, ends []brk) {
	header := trimRight(d.text[start:body])
	t := block{start: start, body: body, end: start + len(header), closed: true, open: header + "\n"}
	next = body
	if d.limit.Unit.Length(t.open) > d.limit.Max/2 {
		// The header leaves too little space for rows, so it is treated like one.
		t.open, next = "", start
	}
	var rows []stretch
	for next < len(d.text) {
		l := d.line(next)
		if _, fenced := opens(l); fenced || !strings.Contains(l, "|") {
			break
		}
		t.end = next + len(trimRight(l))
		rows = append(rows, stretch{next, t.end})
		next += len(l)
	}
	t.bodyEnd = t.end
	r := d.between(t)
	for i, row := range rows {
		if i > 0 {
			d.breaks = append(d.breaks, brk{end: rows[i-1].end, next: row.start, rank: r})
		}
		first := len(d.breaks)
		d.prose(row.start, row.end)
		for j := range d.breaks[first:] {
			d.breaks[first+j].rank = max(d.breaks[first+j].rank, inRow)
		}
	}
	d.blocks = append(d.blocks, t)
	d.open = len(d.text)
	return next, []brk{{end: t.end, rank: paragraph}}
}
