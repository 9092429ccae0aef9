package agent

import (
	"regexp"
	"strings"
)

var (
	comment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	// nothing matches a line of Markdown that asks for nothing: a blank one, a heading, an empty item or checkbox of a list.
	nothing = regexp.MustCompile(`^\s*(#{1,6}(\s.*)?|([-*+]|\d{1,9}[.)])(\s+\[[ xX]?\])?)?\s*$`)
)

// HeartbeatEmpty reports whether HEARTBEAT.md names nothing to look after: it has only blank lines, headings, comments, and
// items or checkboxes of lists without a text. A comment that is not closed reaches to the end.
func HeartbeatEmpty(text string) bool {
	for line := range strings.Lines(comment.ReplaceAllString(strings.TrimPrefix(text, "\ufeff"), "")) {
		if !nothing.MatchString(line) {
			return false
		}
	}
	return true
}
