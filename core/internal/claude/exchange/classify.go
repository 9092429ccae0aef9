package exchange

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// failed returns why a finished turn has no answer. is_error marks such turns: failures of the API have the subtype
// "success".
func (t *turn) failed() *agent.Failure {
	r := t.outcome
	detail := r.Result
	if detail == "" {
		detail = strings.Join(append([]string{r.Subtype}, r.Errors...), ": ")
	}
	return &agent.Failure{Class: t.classify(), Detail: detail, ResetsAt: t.resetsAt}
}

// classify returns the class of a failed result. The order matters: the most reliable sign first, the message's words
// last.
func (t *turn) classify() agent.Class {
	r := t.outcome
	switch r.TerminalReason {
	case "aborted_streaming", "aborted_tools":
		return agent.Aborted
	case "prompt_too_long", "blocking_limit":
		return agent.ContextOverflow
	}
	if r.StopReason == "refusal" {
		return agent.ContentFilter
	}
	if strings.HasPrefix(r.Subtype, "error_max_") {
		return agent.Limit
	}
	switch t.failure {
	case "authentication_failed", "oauth_org_not_allowed":
		return agent.Auth
	case "billing_error":
		return agent.Billing
	case "rate_limit":
		return agent.RateLimit
	case "overloaded":
		return agent.Overloaded
	case "model_not_found":
		return agent.Model
	}
	switch r.APIErrorStatus {
	case 401, 403:
		return agent.Auth
	case 402:
		return agent.Billing
	case 404:
		return agent.Model
	case 413:
		return agent.ContextOverflow
	case 429:
		return agent.RateLimit
	case 529:
		return agent.Overloaded
	}
	if class := byWords(r.Result + " " + strings.Join(r.Errors, " ")); class != agent.Unknown {
		return class
	}
	if t.retried == "overloaded" {
		return agent.Overloaded
	}
	if r.APIErrorStatus == 400 || r.TerminalReason == "image_error" {
		return agent.Rejected
	}
	if t.failure == "server_error" || r.APIErrorStatus >= 500 {
		return agent.Server
	}
	return agent.Unknown
}

// byWords classifies by a message's words, as a last resort.
func byWords(text string) agent.Class {
	for _, w := range words {
		if strings.Contains(text, w.part) {
			return w.class
		}
	}
	return agent.Unknown
}

var words = []struct {
	part  string
	class agent.Class
}{
	{"No conversation found", agent.TranscriptMissing},
	{"Overloaded", agent.Overloaded},
	{"timed out", agent.Timeout},
	{"content filtering", agent.ContentFilter},
	{"Usage Policy", agent.ContentFilter},
	{"context window", agent.ContextOverflow},
	{"too long", agent.ContextOverflow},
	{"Unable to connect", agent.Server},
	{"/login", agent.Auth},
}
