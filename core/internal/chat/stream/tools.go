package stream

import (
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// listsTools reports whether the chat gets lists of the tools that were used.
func (o Options) listsTools() bool { return o.Verbose == "on" || o.Verbose == "full" }

// toolList lists tools that were used, as Markdown; if verbose is full, with what they returned.
func toolList(used []agent.ToolUse, verbose string) string {
	var b strings.Builder
	for _, t := range used {
		b.WriteString("- " + t.Name)
		if t.Summary != "" {
			fmt.Fprintf(&b, ": %s", code(t.Summary))
		}
		switch {
		case t.Denied:
			b.WriteString(" (not allowed)")
		case t.Failed:
			b.WriteString(" (failed)")
		}
		if verbose == "full" && t.Output != "" {
			fmt.Fprintf(&b, "\n\n  ```\n  %s\n  ```\n", strings.NewReplacer("\n", "\n  ", "```", "'''").Replace(t.Output))
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// code returns s as inline code.
func code(s string) string {
	return "`" + strings.ReplaceAll(s, "`", "'") + "`"
}
