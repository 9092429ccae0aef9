// Package wire converts between the vocabulary of package chat and the protocol's messages, in both directions, for the sdk
// and for the host.
//
// The two directions differ. ToProto trusts its caller and never fails; it only repairs text, because gRPC refuses strings
// that are not UTF-8. FromProto trusts no input: it limits what it accepts and names the field that it refuses. What only
// people read (names, titles, quotes) is cut rather than refused, so that a person with a long name does not lose messages.
package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of FromProto.
const (
	MaxText     = 256 << 10 // bytes of a message's text; longer ones are refused
	MaxQuote    = 16 << 10  // bytes of a quoted text and of a thread's first message; longer ones are cut
	MaxID       = 256       // bytes of any id except an event's; longer ones are refused
	MaxName     = 256       // bytes of a name for people to read; longer ones are cut
	MaxMedia    = 64        // per message, including those of its quote
	MaxMentions = 256
	MaxAliases  = 32
	MaxButtons  = 100       // per message, in all rows
	MaxIDs      = 100       // message ids of a receipt
	MaxDetail   = 1 << 10   // bytes of a failure's or a state's text; longer ones are cut
	MaxCommand  = 32        // bytes of a command's name
	MaxAgent    = 32        // bytes of an agent's label
	MaxPath     = 4 << 10   // bytes of a folder's path
	MaxMenu     = 500       // commands of a menu
	MaxSession  = 4 * MaxID // bytes of a session key
	MaxEntries  = 1000      // transcript entries of one call
	MaxLimits   = 16        // media limits of a kind of chat
	MaxEntry    = MaxText   // bytes of a transcript entry; longer ones are cut
	MaxData     = MaxID * 4 // bytes of a button's data
	MaxOptions  = 32        // of a poll
	MaxPollText = 4 << 10   // bytes of a poll's question, or of an option
)

// Repair replaces each byte that is not part of valid UTF-8 by a question mark. Offsets into the text stay valid.
func Repair(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteByte('?')
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Cut repairs s and cuts it to at most limit bytes, between characters.
func Cut(s string, limit int) string {
	if len(s) > limit {
		// Cutting first limits the work; a character that the cut divides is dropped.
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	return Repair(s)
}

// field returns an error that names the field.
func field(name, format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{name}, args...)...)
}

// id checks an id that may be empty.
func id(name, value string) error {
	switch {
	case len(value) > MaxID:
		return field(name, "%d bytes, at most %d are allowed", len(value), MaxID)
	case !utf8.ValidString(value):
		return field(name, "not UTF-8")
	}
	return nil
}

// requiredID checks an id that may not be empty.
func requiredID(name, value string) error {
	if value == "" {
		return field(name, "empty")
	}
	return id(name, value)
}

// text repairs a text that must not be cut, and checks its length.
func text(name, value string) (string, error) {
	if len(value) > MaxText {
		return "", field(name, "%d bytes, at most %d are allowed", len(value), MaxText)
	}
	return Repair(value), nil
}

// count checks the length of a list.
func count(name string, n, limit int) error {
	if n > limit {
		return field(name, "%d entries, at most %d are allowed", n, limit)
	}
	return nil
}

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
