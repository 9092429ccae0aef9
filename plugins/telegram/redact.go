package main

import (
	"net/url"
	"strings"
)

// redactor takes a token out of texts: every request has it in its address, and so has every error of a transport.
type redactor struct{ replacer *strings.Replacer }

// shown stands where the token was.
const shown = "<token>"

// shortestRedacted is the least length of a secret that is looked for without the bot's id before it; a shorter one, of
// a server for tests, would be found in ordinary words.
const shortestRedacted = 8

func newRedactor(token string) redactor {
	escaped := url.QueryEscape(token)
	old := []string{token, shown, escaped, shown, strings.ReplaceAll(escaped, "%3A", "%3a"), shown}
	if _, secret, _ := strings.Cut(token, ":"); len(secret) >= shortestRedacted {
		old = append(old, secret, shown)
	}
	return redactor{strings.NewReplacer(old...)}
}

func (r redactor) clean(s string) string { return r.replacer.Replace(s) }
