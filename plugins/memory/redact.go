package main

import (
	"regexp"
	"strings"
	"unicode"
)

// removed replaces a secret.
const removed = "[removed]"

// secretRule matches one kind of secret. The group named "secret" is redacted; without one, the whole match.
type secretRule struct {
	pattern *regexp.Regexp
	secret  int
	is      func(found string) bool // nil: each match is one
}

// says matches the text between a secret's name and the secret, such as " for the router is ".
const says = `(?:\s+(?:for|of|to|on|at|in|für|von|vom|zu|zum|zur|im|beim)(?:\s+\S+?){1,4}?)?` +
	`(?:\s*[:=]\s*|\s+(?:is|was|are|ist|war|sind|lautet|lauten)\s*:?\s+)`

// secretRules are the rules of [redact], in order: whole blocks first, then secrets recognised by their format, then those
// recognised by the words before them.
var secretRules = []secretRule{
	rule(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`, nil),
	// A token made of three parts in base64, the first of which is a JSON object.
	rule(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)*`, nil),
	// Keys with an issuer's prefix.
	rule(`\b(sk|pk|rk)[-_](live|test|ant|proj|or|svcacct|admin)?[-_A-Za-z0-9]{16,}`, nil),
	rule(`\b(ghp|gho|ghu|ghs|ghr|glpat|xox[abeoprs]|xapp|npm|pypi|dop_v1|hf|shpat|shpss|sq0[a-z]{3}|SG|AGE-SECRET-KEY|whsec|dckr_pat)[-_.][A-Za-z0-9_.-]{10,}`, nil),
	rule(`\bgithub_pat_[A-Za-z0-9_]{20,}`, nil),
	rule(`\b(AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b`, nil),
	rule(`\bAIza[A-Za-z0-9_-]{30,}`, nil),
	rule(`\bya29\.[A-Za-z0-9_-]{20,}`, nil),
	rule(`\b\d{6,12}:[A-Za-z0-9_-]{30,}`, nil),                                     // of a Telegram bot
	rule(`\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`, nil), // of a Discord bot
	rule(`\bhttps://hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]+)`, nil),
	rule(`\bhttps://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/(?P<secret>\S+)`, nil),
	rule(`\b[a-z][a-z0-9+.-]*://[^\s/:@]*:(?P<secret>[^\s/@]+)@`, nil),
	rule(`(?i)[?&](?:access_?token|api_?key|key|token|secret|sig|signature|password|auth|code)=(?P<secret>[^&#\s"'<>]+)`, nil),
	rule(`(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9+/_.~=-]{12,})`, nil),
	rule(`(?i)\b(?:passphrase|(?:seed|recovery|mnemonic|secret)[ _-]?(?:phrase|words)|mnemonic)["'*]*`+says+`(?P<secret>[^\n]+)`, nil),
	rule(`(?i)\b[\w-]*(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|token|passwor[dt]s?|passwd|pwd|kennwort|passwörter|zugangscode|geheimnis)["'*]*`+
		says+`(?P<secret>"[^"\n]+"|'[^'\n]+'|\S+)`, nil),
	rule(`(?i)\b(?:pin|tan|cvv|cvc)(?:[ -]?(?:code|number|nummer))?["'*]*`+says+`(?P<secret>\S+)`, nil),
	rule(`(?i)\b(?:passwor[dt]|passwd|kennwort)\s+(?P<secret>\S+)`, isMixed),
	rule(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b`, isBankAccount),
	rule(`\b(?:\d[ -]?){12,18}\d\b`, isCardNumber),
	rule(`\b(?:0x)?[0-9A-Fa-f]{32,}\b`, nil),
	rule(`[A-Za-z0-9+/_-]{32,}={0,2}`, isRandom),
}

func rule(pattern string, is func(string) bool) secretRule {
	compiled := regexp.MustCompile(pattern)
	return secretRule{pattern: compiled, secret: max(0, compiled.SubexpIndex("secret")), is: is}
}

// redact removes secrets from a text: keys and tokens by their format, passwords by the words before them, private keys,
// numbers of cards and accounts, and long runs of random letters. It cannot recognise a password without context.
func redact(text string) string {
	for _, r := range secretRules {
		text = r.apply(text)
	}
	return text
}

func (r secretRule) apply(text string) string {
	var b strings.Builder
	end := 0
	for _, found := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		from, to := found[2*r.secret], found[2*r.secret+1]
		if from < 0 || r.is != nil && !r.is(text[from:to]) || strings.Contains(text[from:to], removed) {
			continue
		}
		b.WriteString(text[end:from])
		b.WriteString(removed)
		end = to
	}
	if end == 0 {
		return text
	}
	b.WriteString(text[end:])
	return b.String()
}

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

// isRandom reports whether a long run looks like base64 rather than a path or a name: it has letters of both cases and
// digits, and no slashes that split it into words.
func isRandom(text string) bool {
	var upper, lower, digit, changes int
	var last rune
	for i, r := range text {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			lower++
		case unicode.IsDigit(r):
			digit++
		}
		if i > 0 && class(r) != class(last) {
			changes++
		}
		last = r
	}
	return upper >= 3 && lower >= 3 && digit >= 2 && changes*4 >= len(text)
}

// isMixed reports whether a word has letters and digits, as passwords do and ordinary words do not.
func isMixed(text string) bool {
	return strings.IndexFunc(text, unicode.IsLetter) >= 0 && strings.IndexFunc(text, unicode.IsDigit) >= 0
}

func class(r rune) int {
	switch {
	case unicode.IsUpper(r):
		return 1
	case unicode.IsLower(r):
		return 2
	case unicode.IsDigit(r):
		return 3
	default:
		return 4
	}
}
