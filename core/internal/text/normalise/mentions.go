package normalise

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/sdk/chat"
)

// readable returns the part of a text that the agent reads. A mention alone stays, because it still calls the agent.
func readable(written string, mentions []chat.Mention) string {
	if text := trim(newlines(withoutSelf(written, mentions))); text != "" {
		return text
	}
	return trim(newlines(written))
}

// withoutSelf removes the agent's mentions from a text, as if they had not been written: one space remains between the
// words around them. It skips overlapping ranges.
func withoutSelf(text string, mentions []chat.Mention) string {
	own := slices.DeleteFunc(slices.Clone(mentions), func(m chat.Mention) bool { return !m.IsSelf })
	slices.SortStableFunc(own, func(a, b chat.Mention) int { return a.Offset - b.Offset })
	kept, end := "", 0
	for i, m := range own {
		if m.Offset < end {
			continue
		}
		begin := m.Offset
		if at := strings.IndexByte(text[begin:begin+m.Length], '@'); at > 0 && text[begin] == '/' {
			begin += at // "/status@bot" mentions the agent and is still the command.
		}
		if i == 0 {
			kept = text[:begin]
		} else {
			kept = glue(kept, text[end:begin])
		}
		end = m.Offset + m.Length
	}
	if end == 0 {
		return text
	}
	return glue(kept, text[end:])
}

// glue joins the text before a mention with the text after it.
func glue(before, after string) string {
	const spaces = " \t"
	left, right := strings.TrimRight(before, spaces), strings.TrimLeft(after, spaces)
	switch {
	case strings.TrimSpace(left) == "": // "@bot, do it" and "@bot: do it" call the agent by name.
		if rest := strings.TrimLeft(right, ",:"); len(right)-len(rest) == 1 && strings.TrimLeftFunc(rest, unicode.IsSpace) != rest {
			right = strings.TrimLeft(rest, spaces)
		}
		return left + right
	case strings.HasSuffix(left, "\n"), strings.HasSuffix(left, "\r"), strings.HasPrefix(right, "\n"), strings.HasPrefix(right, "\r"):
		return left + right
	case left == before && right == after:
		return left + right
	case right == after && right != "" && strings.ContainsRune(".,;:!?", rune(right[0])):
		return left + right
	default:
		return left + " " + right
	}
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// newlines makes all line breaks "\n".
func newlines(text string) string { return lineBreaks.Replace(text) }

// trim removes invisible characters from both ends of a text.
func trim(text string) string { return strings.TrimFunc(text, blank) }

// blank reports whether a character at the end of a text can be removed without loss. The joiners and tags that emoji
// consist of cannot.
func blank(r rune) bool {
	switch r {
	case '\u00ad', '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u180e', '\u200b', '\u200c', '\u200e', '\u200f', '\u2060', '\u2061',
		'\u2062', '\u2063', '\u2064', '\u2800', '\u3164', '\ufeff', '\uffa0':
		return true
	default:
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}
}
