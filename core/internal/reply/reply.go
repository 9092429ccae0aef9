// Package reply makes of what the agent said, or of why it said nothing, what is sent to the chat.
package reply

import (
	"regexp"
	"strings"

	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// SilentToken is what the agent answers to say nothing.
const SilentToken = "NO_REPLY"

// Empty is what a person is told who would otherwise wait in vain for an answer that came without words.
const Empty = "Claude finished without an answer. Ask again, or put it in other words."

// Reply is an answer that is fit to be sent.
type Reply struct {
	Text string // empty: there is nothing to send, as was wished if Silent, and else by accident
	// Silent says that the agent chose to say nothing.
	Silent bool
}

// Normalise returns what the agent's answer comes to. Blanks around it are dropped, and so are first and last lines that
// hold the [SilentToken] alone, in any case and with or without marks of emphasis, code or quotation; an answer of nothing
// else is silent.
func Normalise(answer string) Reply {
	lines := strings.Split(answer, "\n")
	silent := false
	for len(lines) > 0 {
		switch first, last := lines[0], lines[len(lines)-1]; {
		case strings.TrimSpace(first) == "":
			lines = lines[1:]
		case strings.TrimSpace(last) == "":
			lines = lines[:len(lines)-1]
		case isToken(first):
			silent = true
			lines = lines[1:]
		case isToken(last):
			lines = lines[:len(lines)-1]
		default:
			return Reply{Text: strings.TrimRight(strings.Join(lines, "\n"), " \t\r")}
		}
	}
	return Reply{Silent: silent}
}

func isToken(line string) bool {
	return strings.EqualFold(strings.Trim(line, " \t\r`*_\"'.!"), SilentToken)
}

// Pieces returns the messages that an answer is sent in, none over the channel's limit. The prefix, which may be empty,
// stands once, before all. A positive max lowers the channel's limit, in its unit; where the channel has none, it counts
// characters.
func Pieces(text, prefix string, limit chat.TextLimit, max int) []string {
	switch {
	case max <= 0:
	case limit.Max <= 0:
		limit = chat.TextLimit{Max: max, Unit: chat.Runes}
	default:
		limit.Max = min(limit.Max, max)
	}
	if text == "" {
		return nil
	}
	return chunk.Split(withPrefix(prefix, text), chunk.Rule{Limit: limit})
}

// block matches a text that means what it means only at the beginning of a line.
var block = regexp.MustCompile("^(#|>|\\||```|~~~|    |\t|[-*+] |[0-9]+[.)] )")

// withPrefix puts the prefix on the text's first line, or on a line of its own where the text begins with a heading, a
// list, a quote, a table or code.
func withPrefix(prefix, text string) string {
	switch {
	case prefix == "":
		return text
	case strings.HasSuffix(prefix, "\n"):
		return prefix + text
	case block.MatchString(text):
		return strings.TrimRight(prefix, " ") + "\n\n" + text
	case strings.HasSuffix(prefix, " "):
		return prefix + text
	default:
		return prefix + " " + text
	}
}
