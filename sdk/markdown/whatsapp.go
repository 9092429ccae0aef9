package markdown

import "github.com/clawhost/clawhost/sdk/chat"

// whatsAppMarks are the marks that WhatsApp shows a style by.
var whatsAppMarks = map[string]string{Bold: "*", Italic: "_", Strikethrough: "~", Code: "`", Pre: "```"}

// ToWhatsApp renders Markdown with WhatsApp's own marks: *bold*, _italic_, ~struck~, `code`, ```blocks``` and lines that
// begin with "> ". A mark does not reach over a line's end there, so a style is marked on each of its lines. Links are
// written out behind their text. A source that is not blank gives a text that is not blank.
//
// WhatsApp has no escapes: a text with such marks of its own around a word is shown as if it had been meant so.
func ToWhatsApp(source string) string {
	text, entities := rendered(source, chat.TextLimit{})
	return marked(text, entities, whatsAppMarks)
}
