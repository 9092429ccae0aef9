package markdown

import (
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// writer builds a text with entities. Line breaks and indents are pending until a character follows: so no entity begins or
// ends with one, and the text does not end with one.
type writer struct {
	text   strings.Builder
	units  int    // the text's length in UTF-16 code units
	breaks int    // pending line breaks
	indent string // begins each line
	open   []Entity
	done   []Entity
}

// notBegun is the offset of an open entity before its first character is written.
const notBegun = -1

// write appends s and indents each line.
func (w *writer) write(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.breaks++
		}
		if line != "" {
			w.begin()
			w.append(line)
		}
	}
}

// separate ensures that at least n line breaks precede the next text.
func (w *writer) separate(n int) { w.breaks = max(w.breaks, n) }

// span applies e to what body writes, unless the entity is not allowed there.
func (w *writer) span(e Entity, body func()) {
	if w.isOpen(e.Type) {
		body()
		return
	}
	e.Offset = notBegun
	w.open = append(w.open, e)
	body()
	last := len(w.open) - 1
	w.close(w.open[last])
	w.open = w.open[:last]
}

// verbatim writes s unchanged under e, which is code. Only a quote may contain code, so other open entities are ended
// before it and continued after it. Inside a link the code style is dropped instead.
func (w *writer) verbatim(e Entity, s string) {
	if strings.TrimSpace(s) == "" || (e.Type == Code && w.isOpen(TextLink)) {
		w.write(s)
		return
	}
	if e.Type == Pre {
		defer func(indent string) { w.indent = indent }(w.indent)
		w.indent = ""
	}
	w.begin()
	for i := range w.open {
		if w.open[i].Type != Blockquote {
			w.close(w.open[i])
			w.open[i].Offset = notBegun
		}
	}
	e.Offset = w.units
	w.append(s)
	w.close(e)
}

// begin writes the pending line breaks and indent.
func (w *writer) begin() {
	switch {
	case w.text.Len() == 0:
		w.append(w.indent)
	case w.breaks > 0:
		w.append(strings.Repeat("\n", w.breaks))
		w.append(w.indent)
	}
	w.breaks = 0
	for i := range w.open {
		if w.open[i].Offset == notBegun {
			w.open[i].Offset = w.units
		}
	}
}

func (w *writer) append(s string) {
	w.text.WriteString(s)
	w.units += chat.UTF16.Length(s)
}

func (w *writer) close(e Entity) {
	if e.Offset == notBegun || e.Offset == w.units {
		return
	}
	e.Length = w.units - e.Offset
	w.done = append(w.done, e)
}

func (w *writer) isOpen(entityType string) bool {
	for _, e := range w.open {
		if e.Type == entityType {
			return true
		}
	}
	return false
}
