package markdown

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// ToText renders Markdown as text for a network without formatting. Link addresses follow their text, and lines of quotes
// begin with "> "; all other formatting is lost. A non-blank source gives a non-blank text. The limit applies to tables, as
// in [ToEntities].
func ToText(source string, limit chat.TextLimit) string {
	text, entities := rendered(source, limit)
	return marked(text, entities, nil)
}

// marked writes entities as marks; types without marks are omitted.
func marked(text string, entities []Entity, marks map[string]string) string {
	if len(entities) == 0 {
		return text
	}
	// At the same position the outer entity begins first and ends last.
	slices.SortStableFunc(entities, byPlace)
	var out strings.Builder
	var open []Entity
	next, units := 0, 0
	row := 0 // backticks in a row so far, including those of a mark
	toggle := func(reverse bool) {
		for i := range open {
			e := open[i]
			if reverse {
				e = open[len(open)-1-i]
			}
			if e.Type != Pre {
				out.WriteString(marks[e.Type])
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
			if e.Type == Pre && row > 0 {
				out.WriteString(noWidth)
				row = 0
			}
			out.WriteString(marks[e.Type])
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
			out.WriteString(marks[e.Type])
			open = append(open, e)
			row = 2
		}
		if r == '\n' {
			toggle(true)
			out.WriteByte('\n')
			if quoting() {
				out.WriteString("> ")
			}
			toggle(false)
		} else {
			if r != '`' || len(open) == 0 || open[len(open)-1].Type != Pre || marks[Pre] == "" {
				row = 0
			} else if row++; row > 2 { // three would end the block
				out.WriteString(noWidth)
				row = 1
			}
			out.WriteRune(r)
		}
		units += chat.UTF16.Width(r)
	}
	for i := range open {
		e := open[len(open)-1-i]
		if e.Type == Pre && row > 0 {
			out.WriteString(noWidth)
		}
		out.WriteString(marks[e.Type])
		if e.Type == TextLink && !strings.HasSuffix(out.String(), e.URL) {
			out.WriteString(" (" + e.URL + ")")
		}
	}
	return out.String()
}
