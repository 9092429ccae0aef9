package main

import (
	"net/url"
	"strings"
)

// redactor removes a token from texts: the address of every request contains it, and so do transport errors.
type redactor struct{ replacer *strings.Replacer }

// shown replaces the token.
const shown = "<token>"

// shortestRedacted is the minimum length of a secret that is redacted without the bot's id before it; a shorter one, of a
// test server, would match ordinary words.
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
