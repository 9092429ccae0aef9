package inbox

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/chat"
)

// The bounds of a mention that gets a name.
const (
	maxCalled = 60 // characters of the name
	maxNumber = 64 // bytes of what stands in the text
)

// named returns a text for the agent with the names of those whom it mentions by a number alone, where each is mentioned first:
// "@Anna (@900000000003)". What the message asks for must have been understood before. The names are chosen by those who have
// them, and none of them may be a command, or call the agent.
func named(text string, body chat.Body) string {
	var written string
	var mentions []chat.Mention
	switch b := body.(type) {
	case chat.Message:
		written, mentions = b.Text, b.Mentions
	case chat.Edited:
		written, mentions = b.Text, b.Mentions
	}
	names := map[string]string{}
	for _, m := range mentions {
		name := called(m.Name)
		if name == "" || m.IsSelf || m.Length > maxNumber || !within(written, m) {
			continue
		}
		if number := written[m.Offset : m.Offset+m.Length]; utf8.ValidString(number) {
			names[number] = name
		}
	}
	if len(names) == 0 {
		return text
	}
	return anyOf(names).ReplaceAllStringFunc(text, func(number string) string {
		name := names[number]
		if name == "" {
			return number
		}
		names[number] = ""
		return "@" + name + " (" + number + ")"
	})
}

// anyOf finds the keys as whole words.
func anyOf(names map[string]string) *regexp.Regexp {
	var patterns []string
	for number := range names {
		pattern := regexp.QuoteMeta(number)
		if last := number[len(number)-1]; last < 0x80 && (unicode.IsLetter(rune(last)) || unicode.IsDigit(rune(last))) {
			pattern += `\b` // A longer number may begin with it.
		}
		patterns = append(patterns, pattern)
	}
	slices.Sort(patterns)
	slices.Reverse(patterns) // The longer of two that begin alike.
	return regexp.MustCompile(strings.Join(patterns, "|"))
}

// called is a name on one line, without what the host puts around an id, and with nothing that is not seen.
func called(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case strings.ContainsRune("()[]{}<>（）［］", r) || !unicode.IsGraphic(r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(name, ""))
	words := []rune(strings.Join(strings.Fields(name), " "))
	return strings.TrimSpace(string(words[:min(len(words), maxCalled)]))
}
