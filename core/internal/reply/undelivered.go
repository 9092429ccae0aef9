package reply

import (
	"fmt"
	"strings"
)

// The bounds of what is told of messages that did not arrive.
const (
	maxLost     = 3   // messages, the last ones
	maxLostText = 300 // characters of each
)

// Undelivered tells of messages that did not arrive, oldest first, and shows how the last of them begin. One without a text
// was a file.
func Undelivered(texts []string) string {
	var b strings.Builder
	switch len(texts) {
	case 1:
		b.WriteString("A message of mine did not arrive.")
	default:
		fmt.Fprintf(&b, "%d messages of mine did not arrive.", len(texts))
	}
	b.WriteString(" Ask me again for what you miss. Whoever runs clawhost can send it again: `clawhost queue dead`.")
	shown := texts[max(0, len(texts)-maxLost):]
	for _, text := range shown {
		if text = begins(text); text == "" {
			text = "(a file)"
		}
		b.WriteString("\n\n> " + text)
	}
	return b.String()
}

// begins is the beginning of a text, on one line.
func begins(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxLostText {
		line = append(line[:maxLostText-1], '…')
	}
	return string(line)
}
