package interpret

import (
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/chat/command"
)

// structural matches what clients put before lines copied from a chat, and what the host puts before lines for the
// agent: brackets with a time of day or a network's name.
var structural = lazyregexp.New(`^(?:\[(?:[^\[\]\n]{0,200}\b\d{1,2}:\d{2}\b[^\[\]\n]{0,100}|(?i:telegram|whatsapp|discord|web chat) [^\[\]\n]{1,300})\]\s*)+`)

// commandText returns the part of a message that may contain commands and directives: without the prefix of a copied
// line. A forwarded text has none, because another person wrote it.
func commandText(m domain.Message) string {
	if m.Forwarded != nil {
		return ""
	}
	return strings.TrimSpace(structural().ReplaceAllString(m.Text, ""))
}

// copied reports whether a text begins like a line copied from a chat: another person may have written it.
func copied(text string) bool { return structural().MatchString(text) }

// called returns the text without the agent's name before it, as the patterns find it, and without the name after it if a
// stop word or a single command remains.
func (l Language) called(text string) string {
	for _, p := range l.Names {
		if at := p.FindStringIndex(text); at != nil && at[0] == 0 && at[1] > 0 {
			if rest, ok := behindName(text[at[1]:]); ok {
				text = rest
				break
			}
		}
	}
	for _, p := range l.Names {
		all := p.FindAllStringIndex(text, -1)
		if len(all) == 0 || strings.Trim(text[all[len(all)-1][1]:], " \t\n.,:;!?") != "" {
			continue
		}
		before := strings.TrimRight(text[:all[len(all)-1][0]], " \t\n")
		before = strings.TrimSuffix(before, ",")
		if _, known := l.Commands.Parse(before); known && !strings.ContainsAny(before, " \t\n") || command.IsAbort(before) {
			return before
		}
	}
	return text
}

// behindName returns the text after a name: "Claw, do it", "Claw: do it" or "Claw do it". False: the name is part of a
// word, or alone.
func behindName(text string) (string, bool) {
	rest := strings.TrimLeft(text, " \t")
	if rest != "" && (rest[0] == ',' || rest[0] == ':') {
		rest = rest[1:]
		text = rest
	}
	rest = strings.TrimSpace(rest)
	return rest, rest != "" && strings.TrimLeftFunc(text, unicode.IsSpace) != text
}
