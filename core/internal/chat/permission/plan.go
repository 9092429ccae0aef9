package permission

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// hides reports whether Markdown would hide words of a text, such as the address of a link.
func hides(text string) bool {
	shown, entities := markdown.ToEntities(text, chat.TextLimit{})
	units := utf16.Encode([]rune(shown))
	for _, e := range slices.Backward(entities) {
		if e.Language != "" { // networks show it, or the colours that it stands for
			units = slices.Insert(units, e.Offset, utf16.Encode([]rune(e.Language))...)
		}
	}
	return words(text) != words(strings.ReplaceAll(string(utf16.Decode(units)), "☑", "x"))
}

// words returns the letters and digits of a text.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}
