package normalise

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
	maxCalled = 60 // characters of a name
	maxNumber = 64 // bytes of the mention in the text
)

// WithNames returns a text with names for the people whom it mentions only by number, each at its first mention: "@Anna
// (@900000000003)". Commands must have been recognised before. People choose their names, so no name may contain a
// command or call the agent.
func WithNames(text string, body chat.Body) string {
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
		if name == "" || m.IsSelf || m.Length > maxNumber {
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

// anyOf matches the keys as whole words.
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
	slices.Reverse(patterns) // The longer of two with the same beginning.
	return regexp.MustCompile(strings.Join(patterns, "|"))
}

// called is a name on one line, without the characters that the host puts around an id, and without invisible ones.
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
