package normalise

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/chat"
)

// harmless removes commands and directives from the mentions in a text, except the agent's: people choose their own
// names, and authors of pages choose the previews of links. It replaces the slash by a backslash, which keeps all
// ranges of the text.
func harmless(text string, mentions []chat.Mention) string {
	var changed []byte
	for _, m := range mentions {
		if m.IsSelf {
			continue
		}
		for at := m.Offset; at < m.Offset+m.Length; at++ {
			if !likeCommand(text, at) {
				continue
			}
			if changed == nil {
				changed = []byte(text)
			}
			changed[at] = '\\'
		}
	}
	if changed == nil {
		return text
	}
	return string(changed)
}

// likeCommand reports whether the text at an offset could be taken for a command, even after what precedes it is
// removed. A path or an address is not a command.
func likeCommand(text string, at int) bool {
	if text[at] != '/' {
		return false
	}
	before, size := utf8.DecodeLastRuneInString(text[:at])
	if size > 0 && (unicode.IsLetter(before) && !blank(before) || unicode.IsDigit(before) || strings.ContainsRune(`/\:.@~_-=`, before)) {
		return false
	}
	behind := strings.TrimLeftFunc(text[at+1:], func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_'
	})
	after, _ := utf8.DecodeRuneInString(behind)
	return behind != text[at+1:] && (behind == "" || after == ':' || unicode.IsSpace(after) || blank(after))
}
