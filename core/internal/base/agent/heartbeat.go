package agent

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

var (
	comment = lazyregexp.New(`(?s)<!--.*?(-->|$)`)
	// nothing matches a line of Markdown without a task: a blank one, a heading, an empty list item or checkbox.
	nothing = lazyregexp.New(`^\s*(#{1,6}(\s.*)?|([-*+]|\d{1,9}[.)])(\s+\[[ xX]?\])?)?\s*$`)
)

// HeartbeatEmpty reports whether HEARTBEAT.md has no tasks: only blank lines, headings, comments, and empty list items
// or checkboxes. An unclosed comment extends to the end.
func HeartbeatEmpty(text string) bool {
	for line := range strings.Lines(comment().ReplaceAllString(strings.TrimPrefix(text, "\ufeff"), "")) {
		if !nothing().MatchString(line) {
			return false
		}
	}
	return true
}
