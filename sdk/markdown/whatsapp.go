package markdown

import (
	"slices"
	"strings"
)

// whatsAppMarks are the marks that WhatsApp shows a style by.
var whatsAppMarks = map[string]string{Bold: "*", Italic: "_", Strikethrough: "~", Code: "`", Pre: "```"}

// ToWhatsApp renders Markdown with WhatsApp's own marks: *bold*, _italic_, ~struck~, `code`, ```blocks``` and lines that
// begin with "> ". A mark does not reach over a line's end there, so a style is marked on each of its lines. Links are
// written out behind their text. A source that is not blank gives a text that is not blank.
//
// WhatsApp has no escapes: a text with such marks of its own around a word is shown as if it had been meant so.
func ToWhatsApp(source string) string {
	source = normalise(source)
	w := &writer{}
	walker{source: []byte(source), out: w, padding: paddings[0]}.children(parse([]byte(source)))
	text := w.text.String()
	if strings.TrimSpace(text) == "" {
		return strings.TrimSpace(source)
	}
	return marked(text, w.done)
}

// marked writes entities as marks.
func marked(text string, entities []Entity) string {
	// At one place the outer begins first and ends last.
	slices.SortStableFunc(entities, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	var out strings.Builder
	var open []Entity
	next, units := 0, 0
	toggle := func(reverse bool) {
		for i := range open {
			e := open[i]
			if reverse {
				e = open[len(open)-1-i]
			}
			if e.Type != Pre {
				out.WriteString(whatsAppMarks[e.Type])
			}
		}
	}
	quoting := func() bool {
		return slices.ContainsFunc(open, func(e Entity) bool { return e.Type == Blockquote })
	}
	for _, r := range text {
		for len(open) > 0 && open[len(open)-1].end() <= units {
			e := open[len(open)-1]
			open = open[:len(open)-1]
			out.WriteString(whatsAppMarks[e.Type])
			if e.Type == TextLink && !strings.HasSuffix(out.String(), e.URL) {
				out.WriteString(" (" + e.URL + ")")
			}
		}
		var begun []Entity
		for ; next < len(entities) && entities[next].Offset <= units; next++ {
			begun = append(begun, entities[next])
		}
		for _, e := range begun {
			if e.Type == Blockquote {
				out.WriteString("> ")
			}
			out.WriteString(whatsAppMarks[e.Type])
			open = append(open, e)
		}
		if r == '\n' {
			toggle(true)
			out.WriteByte('\n')
			if quoting() {
				out.WriteString("> ")
			}
			toggle(false)
		} else {
			out.WriteRune(r)
		}
		units += utf16Width(r)
	}
	for i := range open {
		e := open[len(open)-1-i]
		out.WriteString(whatsAppMarks[e.Type])
		if e.Type == TextLink && !strings.HasSuffix(out.String(), e.URL) {
			out.WriteString(" (" + e.URL + ")")
		}
	}
	return out.String()
}
