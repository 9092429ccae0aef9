package view

import (
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/answer"
)

// fallback is the line before an answer that another model gave than the chosen one; empty if none did.
func fallback(f agent.Fallback) string {
	if f.From == "" {
		return ""
	}
	from, to := modelName(f.From), modelName(f.To)
	switch f.Why {
	case agent.Overloaded:
		return wording.FallbackOverloaded(from, to)
	case agent.RateLimit:
		return wording.FallbackLimited(from, to)
	default:
		return wording.Fallback(from, to)
	}
}

// modelDate is the end of some models' full names: a date, or the size of a window in brackets.
var modelDate = lazyregexp.New(`(-\d{8})?(\[\w+\])?$`)

// modelName is the short name by which people know a model.
func modelName(full string) string {
	return strings.TrimPrefix(modelDate().ReplaceAllString(full, ""), "claude-")
}

// heartbeat returns the answer of a heartbeat: nothing if it acknowledges it, with at most a few words in addition to the
// token.
func heartbeat(written string) answer.Answer {
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
			if rest = strings.TrimSpace(rest); utf8.RuneCountInString(rest) <= answer.MaxRemark {
				return answer.Answer{Silent: true}
			}
			text = rest
		}
	}
	return answer.Parse(text, true)
}

// usage is the line behind an answer that tells what it cost; shown is off, tokens or full.
func usage(r agent.Result, shown string) string {
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

// compacted is the answer to a request to compact the conversation.
func compacted(r agent.Result) string {
	switch {
	case r.Compactions > 0:
		return wording.Compacted
	case r.Text != "":
		return r.Text
	default:
		return wording.NothingToCompact
	}
}
