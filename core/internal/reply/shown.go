package reply

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Fallback is the line before an answer that another model gave than the chosen one; empty: none did.
func Fallback(f agent.Fallback) string {
	if f.From == "" {
		return ""
	}
	return wording.Fallback(modelName(f.From), modelName(f.To), f.Overloaded)
}

// modelDate is what the full names of some models end with: a day, or the size of a window in brackets.
var modelDate = regexp.MustCompile(`(-\d{8})?(\[\w+\])?$`)

// modelName is a model's name without what a person does not know it by.
func modelName(full string) string {
	return strings.TrimPrefix(modelDate.ReplaceAllString(full, ""), "claude-")
}

// shortAcknowledgement is the longest text, in bytes, that beside a token says no more than that all is well.
const shortAcknowledgement = 300

// Heartbeat returns what the answer to a heartbeat comes to: nothing where it acknowledges it, with a word or two beside
// the token at most.
func Heartbeat(written string) answer.Answer {
	text := strings.TrimSpace(written)
	for _, token := range []string{answer.HeartbeatToken, answer.SilentToken} {
		for _, cut := range []func(string) (string, bool){
			func(s string) (string, bool) { return strings.CutPrefix(s, token) },
			func(s string) (string, bool) { return strings.CutSuffix(s, token) },
		} {
			rest, found := cut(text)
			if !found {
				continue
			}
			if rest = strings.TrimSpace(rest); len(rest) <= shortAcknowledgement {
				return answer.Answer{Silent: true}
			}
			text = rest
		}
	}
	return answer.Parse(text, true)
}

// Tools lists the tools that a turn has used, as Markdown, for who wants to see them: verbose is off, on or, with the
// beginning of what they returned, full.
func Tools(used []agent.ToolUse, verbose string) string {
	if verbose != "on" && verbose != "full" || len(used) == 0 {
		return ""
	}
	var b strings.Builder
	for _, t := range used {
		b.WriteString("- " + t.Name)
		if t.Summary != "" {
			fmt.Fprintf(&b, ": %s", code(t.Summary))
		}
		if t.Failed {
			b.WriteString(" (failed)")
		}
		if verbose == "full" && t.Output != "" {
			fmt.Fprintf(&b, "\n\n  ```\n  %s\n  ```\n", strings.NewReplacer("\n", "\n  ", "```", "'''").Replace(t.Output))
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Usage is the line behind an answer that tells what it cost; shown is off, tokens or full.
func Usage(r agent.Result, shown string) string {
	f := wording.Footer{
		Model: r.Model, Input: r.InputTokens + r.CacheTokens, Cached: r.CacheTokens, Output: r.OutputTokens, CostMicros: r.CostMicros,
		ContextUsed: r.ContextTokens, ContextOf: r.ContextWindow,
	}
	switch shown {
	case "tokens":
		return f.Tokens()
	case "full":
		return f.String()
	default:
		return ""
	}
}

// code returns s as inline code.
func code(s string) string {
	return "`" + strings.ReplaceAll(s, "`", "'") + "`"
}
