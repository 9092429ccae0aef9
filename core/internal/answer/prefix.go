package answer

import (
	"regexp"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

var variable = regexp.MustCompile(`\{([A-Za-z.]+)\}`)

// Expand fills in the variables of a prefix, such as {model}. Case makes no difference; names that there are not, and
// empty values, stay as they are written.
func Expand(prefix string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(prefix, func(name string) string {
		if value := values[strings.ToLower(strings.Trim(name, "{}"))]; value != "" {
			return value
		}
		return name
	})
}

// block matches a text that means what it means only at the beginning of a line.
var block = regexp.MustCompile("^(#|>|\\||```|~~~|    |\t|[-*+] |[0-9]+[.)] )")

// WithPrefix puts the prefix on the text's first line, or on a line of its own where the text begins with a heading, a
// list, a quote, a table or code. It adds two bytes at most.
func WithPrefix(prefix, text string) string {
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

// Quoting says which message a piece of an answer is shown as a reply to.
type Quoting struct {
	// Mode is off: to one that the model names, first: the first piece to the current message, or all: each piece. Any other,
	// the zero one among them, is to none, as where the network has no replies.
	Mode    string
	Current chat.MessageID
}

// Target returns the message that a piece is a reply to; empty: none. To is what the model wants, as [Answer.ReplyAt]
// returns it.
func (q Quoting) Target(to string, first bool) chat.MessageID {
	switch q.Mode {
	case "off", "first", "all":
	default:
		return ""
	}
	switch {
	case to == Current, to == "" && (q.Mode == "all" || q.Mode == "first" && first):
		return q.Current
	default:
		return chat.MessageID(to)
	}
}
