package speech

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// maxSpoken is the maximum length of a spoken text, in characters.
const maxSpoken = 4000

// Heard reports whether a message contains a voice message.
func Heard(list []chat.Media) bool {
	return slices.ContainsFunc(list, func(m chat.Media) bool { return m.Kind == chat.Voice })
}

// Spoken returns the part of an answer to speak, as plain text, or "". The mode is off, inbound (if the message was
// spoken), always, or tagged (what the agent has marked). A text of more than 4,000 characters is only written.
func Spoken(mode string, heard bool, a answer.Answer) string {
	text := a.Spoken
	if text == "" {
		text = a.Text
	}
	switch {
	case mode == "tagged" && !a.Aloud && a.Spoken == "":
		return ""
	case mode != "tagged" && mode != "always" && (mode != "inbound" || !heard):
		return ""
	}
	plain, _ := markdown.ToEntities(text, chat.TextLimit{})
	plain = strings.TrimSpace(plain)
	if utf8.RuneCountInString(plain) > maxSpoken {
		return ""
	}
	return plain
}
