// Package redact removes secrets from texts of any language. It recognises them by their shape: keys and tokens of known
// issuers, private keys, credentials in addresses and headers, card and account numbers with valid check digits, and strings
// that look random. Passwords that are words, and short numbers, cannot be distinguished from other text.
package redact

import (
	"regexp"
	"strings"
	"sync"
)

// rule matches one kind of secret. The group named "secret" is removed; without one, the whole match.
type rule struct {
	literal string // every match contains it; a text without it need not be searched
	pattern *regexp.Regexp
	secret  int
	is      func(found string) bool // whether a match is a secret; nil: each one is
}

// rules are applied in order: first whole blocks, then secrets with a known context, then those with a known shape.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		newRule("PRIVATE KEY",
			`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`, nil),
		newRule("://", `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:(?P<secret>[^\s/@]+)@`, nil),
		newRule("hooks.slack.com", `\bhttps://hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]+)`, nil),
		newRule("/api/webhooks/", `\bhttps://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/(?P<secret>[A-Za-z0-9/_-]+)`, nil),
		newRule("", `(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9+/_.~=-]{6,})`, nil),
		newRule("", `(?i)\bauthorization["']?\s*[:=]\s*["']?(?P<secret>[A-Za-z0-9+/_.~=-]{6,})`, hasDigit),
		newRule("", `(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9+/_.~=-]{8,})`, func(s string) bool { return changes(s) >= 4 }),
		// A JSON web token: three parts in base64, the first of which is a JSON object.
		newRule("eyJ", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`, nil),
		newRule("", `\b\d{6,12}:[A-Za-z0-9_-]{30,}`, nil),                                     // of a Telegram bot
		newRule("", `\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`, nil), // of a Discord bot
		newRule("", `\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or|svcacct|admin)[-_][A-Za-z0-9_-]{8,}`, nil),
		newRule("", `\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`, hasDigit),
		newRule("", `\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|pypi-|dop_v1_|hf_|shpat_|shpss_|sq0[a-z]{3}-|SG\.|whsec_|dckr_pat_|AGE-SECRET-KEY-)[A-Za-z0-9_.-]{10,}`, hasDigit),
		newRule("", `\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b`, nil),
		newRule("AIza", `\bAIza[A-Za-z0-9_-]{30,}`, nil),
		newRule("ya29.", `\bya29\.[A-Za-z0-9_-]{20,}`, nil),
		newRule("", `\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b`, isBankAccount),
		newRule("", `\b(?:\d[ -]?){12,18}\d\b`, isCardNumber),
	}
})

func newRule(literal, pattern string, is func(string) bool) rule {
	compiled := regexp.MustCompile(pattern)
	return rule{literal: literal, pattern: compiled, secret: max(0, compiled.SubexpIndex("secret")), is: is}
}

// Text returns a text with a mark in place of each secret, in time proportional to the length of the text.
func Text(text, mark string) string {
	for _, r := range rules() {
		text = replace(text, mark, r.find(text))
	}
	text = replace(text, mark, keys(text))
	return replace(text, mark, passwords(text))
}

// span is a part of a text.
type span struct{ from, to int }

// replace puts the mark in place of the spans, except those that already contain it.
func replace(text, mark string, spans []span) string {
	var b strings.Builder
	end := 0
	for _, s := range spans {
		if strings.Contains(text[s.from:s.to], mark) {
			continue
		}
		b.WriteString(text[end:s.from])
		b.WriteString(mark)
		end = s.to
	}
	if end == 0 {
		return text
	}
	b.WriteString(text[end:])
	return b.String()
}

func (r rule) find(text string) (spans []span) {
	if !strings.Contains(text, r.literal) {
		return nil
	}
	for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[2*r.secret], at[2*r.secret+1]
		if from >= 0 && (r.is == nil || r.is(text[from:to])) {
			spans = append(spans, span{from, to})
		}
	}
	return spans
}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

// isCardNumber reports whether digits have the check digit of a payment card.
func isCardNumber(text string) bool {
	sum, n := 0, 0
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		digit := int(text[i] - '0')
		if n%2 == 1 {
			if digit *= 2; digit > 9 {
				digit -= 9
			}
		}
		sum += digit
		n++
	}
	return n >= 13 && sum%10 == 0
}

// isBankAccount reports whether a text has the check digits of an IBAN.
func isBankAccount(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	if len(text) < 15 || len(text) > 34 {
		return false
	}
	rest := 0
	for _, r := range text[4:] + text[:4] {
		switch {
		case r >= '0' && r <= '9':
			rest = (rest*10 + int(r-'0')) % 97
		default:
			rest = (rest*100 + int(r-'A') + 10) % 97
		}
	}
	return rest == 1
}
