package envelope

import (
	"slices"
	"strings"
)

// cliTags are the beginnings of tags that Claude Code writes into prompts, or searches for in them, as squeeze returns
// them.
var cliTags = []string{
	"system-", "system_", "command-", "local-command-", "bash-input", "bash-stdout", "bash-stderr",
	"user-prompt-submit-hook", "task-notification",
	"new-diagnostics", "ide_opened_file", "ide_selection", "cross-session-message", "teammate-message", "agent-message", "channelsource=",
	"fork-boilerplate", "mcp-resource-update", "tool_use_error", "persisted-output", "sandbox_violations", "daemon-stderr", "remote-review",
	"function_calls", "function_results", "antml:",
}

// untagged returns a text in which each of those tags has a backslash after its bracket.
func untagged(text string) string {
	var b strings.Builder
	done := 0
	for at, r := range text {
		if !opensTag(r) {
			continue
		}
		behind := at + len(string(r))
		if isTag(text[behind:]) {
			b.WriteString(text[done:behind] + `\`)
			done = behind
		}
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// opensTag reports whether a character is the bracket before a tag's name, or looks like it.
func opensTag(r rune) bool {
	return bracket(r) == '<' || strings.ContainsRune("˂ᐸᚲ\U0001d236⟨⟪❬❮❰⧼«≪≺", r)
}

// isTag reports whether a text begins with the name of one of the tags.
func isTag(text string) bool {
	const longest = len("user-prompt-submit-hook")
	var name strings.Builder
	for _, r := range text {
		switch {
		case invisible(r):
			continue
		case name.Len() == 0 && fold(r) == '/':
			continue
		}
		if name.WriteRune(fold(r)); name.Len() >= longest {
			break
		}
	}
	return slices.ContainsFunc(cliTags, func(tag string) bool { return strings.HasPrefix(name.String(), tag) })
}
