package answer

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/sdk/chat"
)

var variable = lazyregexp.New(`\{([A-Za-z.]+)\}`)

// Expand replaces the variables of a prefix, such as {model}. Case is ignored; unknown names and empty values stay
// unchanged.
func Expand(prefix string, values map[string]string) string {
	return variable().ReplaceAllStringFunc(prefix, func(name string) string {
		if value := values[strings.ToLower(strings.Trim(name, "{}"))]; value != "" {
			return value
		}
		return name
	})
}

// block matches text that has its meaning only at the beginning of a line.
var block = lazyregexp.New("^(#|>|\\||```|~~~|    |\t|[-*+] |[0-9]+[.)] )")

// WithPrefix puts the prefix on the text's first line, or on a separate line if the text begins with a heading, a list, a
// quote, a table or code. It adds at most two bytes.
func WithPrefix(prefix, text string) string {
	switch {
	case prefix == "":
		return text
	case strings.HasSuffix(prefix, "\n"):
		return prefix + text
	case block().MatchString(text):
		return strings.TrimRight(prefix, " ") + "\n\n" + text
	case strings.HasSuffix(prefix, " "):
		return prefix + text
	default:
		return prefix + " " + text
	}
}

// Quoting decides which message a piece of an answer replies to.
type Quoting struct {
	// Mode is off: only messages chosen by the model, first: the first piece replies to the current message, or all: each
	// piece does. With any other value, including the zero one, there are no replies, as on networks without them.
	Mode    string
	Current chat.MessageID
	Known   Messages // nil: the model names messages by the network's ids
}

// Messages are those that the model has read.
type Messages interface {
	// Message returns the message that the model names; empty: none.
	Message(name string) chat.MessageID
}

// Target returns the message that a piece replies to; empty: none. To is the model's choice, from [Answer.ReplyAt].
func (q Quoting) Target(to string, first bool) chat.MessageID {
	switch q.Mode {
	case "off", "first", "all":
	default:
		return ""
	}
	switch {
	case to == Current, to == "" && (q.Mode == "all" || q.Mode == "first" && first):
		return q.Current
	case to != "" && q.Known != nil:
		return q.Known.Message(to)
	default:
		return chat.MessageID(to)
	}
}
