package turn

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// The bounds of the notice of messages that did not arrive.
const (
	maxLost     = 3   // messages, the last ones
	maxLostText = 300 // characters of each
)

// undelivered is the notice of messages that did not arrive, oldest first, with the beginning of the last of them. One
// without a text was a file.
func undelivered(texts []string) string {
	shown := make([]string, 0, maxLost)
	for _, text := range texts[max(0, len(texts)-maxLost):] {
		shown = append(shown, begins(text))
	}
	return wording.NotDelivered(len(texts), shown)
}

// begins is the beginning of a text, on one line.
func begins(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxLostText {
		line = append(line[:maxLostText-1], '…')
	}
	return string(line)
}
