package markdown

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/clawhost/clawhost/sdk/chat"
)

// whatsAppMarks are WhatsApp's marks for styles.
var whatsAppMarks = map[string]string{Bold: "*", Italic: "_", Strikethrough: "~", Code: "`", Pre: "```"}

// ToWhatsApp renders Markdown with WhatsApp's own marks: *bold*, _italic_, ~struck~, `code`, ```blocks``` and lines that
// begin with "> ". There a mark ends at the end of its line, so each line of a style is marked. Link addresses follow their
// text. A non-blank source gives a non-blank text.
//
// WhatsApp has no escapes: if a text contains such marks around a word, WhatsApp shows the style. In code, where a backtick may
// matter, it does not: code with backticks is marked as a block is, and a character without width stands next to those that
// could end it.
func ToWhatsApp(source string) string {
	text, entities := rendered(source, chat.TextLimit{})
	if strings.Contains(text, "`") {
		units := utf16.Encode([]rune(text))
		for i, e := range entities {
			if e.Type == Code && slices.Contains(units[e.Offset:e.end()], '`') {
				entities[i].Type = Pre
			}
		}
	}
	return marked(text, entities, whatsAppMarks)
}
