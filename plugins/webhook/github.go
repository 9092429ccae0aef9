package main

import (
	"bytes"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// github is the form of GitHub's webhooks.
type github struct{ key []byte }

var githubWord = regexp.MustCompile(`^[a-z_]{1,64}$`)

// authenticate implements [form]. The signature covers the body, and no time.
func (g github) authenticate(h http.Header, body []byte, _ time.Time) error {
	text, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	if !ok {
		return errUnsigned
	}
	if got, err := hex.DecodeString(text); err != nil || !hmac.Equal(got, sign(g.key, body)) {
		return errWrong
	}
	return nil
}

// read implements [form]. Headers are not signed: a copy of a request can come under another delivery id. So
// the body identifies the delivery.
func (g github) read(h http.Header, body []byte) (d delivery, err error) {
	d.identity = string(body)
	d.event = h.Get("X-GitHub-Event")
	if !githubWord.MatchString(d.event) {
		return d, errors.New("the header X-GitHub-Event is missing, or names no event")
	}
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch kind {
	case "application/json":
	case "application/x-www-form-urlencoded":
		// The content type is not signed. A JSON object that somebody relabels may have a payload of theirs in one of its texts.
		values, err := url.ParseQuery(string(body))
		if err != nil || !bytes.HasPrefix(body, []byte("payload=")) {
			return d, errors.New("the form in the body cannot be read")
		}
		body = []byte(values.Get("payload"))
	default:
		return d, errors.New("the content type must be application/json or application/x-www-form-urlencoded")
	}
	if d.payload, err = decode(body); err != nil {
		return d, err
	}
	d.ping = d.event == "ping"
	d.payload["event"] = d.event
	if action, ok := d.payload["action"].(string); ok && githubWord.MatchString(action) {
		d.event += "." + action
	}
	return d, nil
}
