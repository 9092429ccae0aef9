package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits for what is inserted into a text for its entities.
const (
	maxLinks    = 8 << 10 // bytes of the addresses behind a message's links
	maxLanguage = 32      // bytes of the name of a block's language
)

// insertion is text to insert at a position. At the same position a lower rank comes first.
type insertion struct {
	at   int // in bytes
	rank rank
	text string
}

type rank int

const (
	ends rank = iota
	quotes
	begins
)

// formatted renders entities as Markdown, and moves the mentions with their text: quotes and code, in which the host looks
// for no directive, and the addresses of links after their text, "text (address)". Other formatting is dropped.
func formatted(w written, mentions []chat.Mention) (string, []chat.Mention) {
	var list []insertion
	var quoted []chat.Mention // the ranges of quotes
	for _, e := range w.entities {
		if begin, end := byteRange(w.text, e); begin < end && (e.Type == "blockquote" || e.Type == "expandable_blockquote") {
			list = append(list, quote(w.text, begin, end)...)
			quoted = append(quoted, chat.Mention{Offset: begin, Length: end - begin})
		}
	}
	left := maxLinks
	for _, e := range w.entities {
		begin, end := byteRange(w.text, e)
		inQuote := slices.ContainsFunc(quoted, func(q chat.Mention) bool { return q.Offset <= begin && begin < q.Offset+q.Length })
		switch {
		case begin == end:
		case (e.Type == "code" || e.Type == "pre") && !inQuote: // a quote needs no code marks
			list = append(list, code(w.text, begin, end, e.Language)...)
		case e.Type == "text_link" && isAddress(e.URL) && bare(e.URL) != bare(w.text[begin:end]):
			address := " (" + e.URL + ")"
			if left -= len(address); left >= 0 {
				list = append(list, insertion{end, ends, address})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return int(a.rank - b.rank)
	})
	var text strings.Builder
	done := 0
	for _, i := range list {
		text.WriteString(w.text[done:i.at] + i.text)
		done = i.at
	}
	text.WriteString(w.text[done:])
	moved := slices.Clone(mentions)
	for i, m := range mentions {
		for _, written := range list {
			switch {
			case written.at <= m.Offset:
				moved[i].Offset += len(written.text)
			case written.at < m.Offset+m.Length:
				moved[i].Length += len(written.text)
			}
		}
	}
	return text.String(), moved
}

// quote marks each line of a quote.
func quote(text string, begin, end int) []insertion {
	list := []insertion{{begin, quotes, lineBreak(text[:begin]) + "> "}}
	for at := begin; at < end-1; at++ {
		if text[at] == '\n' {
			list = append(list, insertion{at + 1, quotes, "> "})
		}
	}
	if end < len(text) && text[end-1] != '\n' && text[end] != '\n' {
		list = append(list, insertion{end, ends, "\n"})
	}
	return list
}

// code surrounds code with more backticks than it contains in a row.
func code(text string, begin, end int, language string) []insertion {
	within := text[begin:end]
	marks := "`"
	block := language != "" || strings.Contains(within, "\n")
	if block {
		marks = "```"
	}
	for strings.Contains(within, marks) {
		marks += "`"
	}
	switch {
	case block:
		if len(language) > maxLanguage ||
			strings.ContainsFunc(language, func(r rune) bool { return r == '`' || unicode.IsSpace(r) || !unicode.IsGraphic(r) }) {
			language = ""
		}
		behind := "\n" + marks
		if end < len(text) && text[end] != '\n' {
			behind += "\n"
		}
		return []insertion{{begin, begins, lineBreak(text[:begin]) + marks + language + "\n"}, {end, ends, behind}}
	case len(marks) > 1:
		return []insertion{{begin, begins, marks + " "}, {end, ends, " " + marks}}
	default:
		return []insertion{{begin, begins, marks}, {end, ends, marks}}
	}
}

// lineBreak returns a line break if the text needs one before something that starts a line.
func lineBreak(before string) string {
	if before == "" || strings.HasSuffix(before, "\n") {
		return ""
	}
	return "\n"
}

// isAddress reports whether an address can be inserted into a text: one line without invisible characters.
func isAddress(address string) bool {
	return address != "" && !strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
}

// bare returns an address as people write it.
func bare(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	return strings.ToLower(strings.TrimSuffix(rest, "/"))
}
