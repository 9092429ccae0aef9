package main

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tolerance is how old, or how far ahead, the time of a request in the plain form may be.
const tolerance = 5 * time.Minute

// maxSignatures limits the signatures of a request: there are several while a secret is replaced.
const maxSignatures = 10

// plain is the form of Standard Webhooks (https://www.standardwebhooks.com): the signature covers an id, a time and the body.
type plain struct{ key []byte }

// plainID has no dot, which separates what is signed.
var plainID = regexp.MustCompile(`^[!-\-/-~]{1,256}$`)

// authenticate implements [form].
func (p plain) authenticate(h http.Header, body []byte, now time.Time) error {
	id, stamp, signatures := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature")
	if id == "" || stamp == "" || signatures == "" {
		return errUnsigned
	}
	seconds, err := strconv.ParseUint(stamp, 10, 40)
	if err != nil || !plainID.MatchString(id) {
		return errWrong
	}
	want := sign(p.key, []byte(id+"."+stamp+"."), body)
	valid := false
	for i, text := range strings.Fields(signatures) {
		if i == maxSignatures {
			break
		}
		encoded, ok := strings.CutPrefix(text, "v1,")
		if got, err := base64.StdEncoding.DecodeString(encoded); ok && err == nil && hmac.Equal(got, want) {
			valid = true
		}
	}
	if !valid {
		return errWrong
	}
	if age := now.Sub(time.Unix(int64(seconds), 0)); age > tolerance || age < -tolerance {
		return errStale
	}
	return nil
}

// read implements [form].
func (p plain) read(h http.Header, body []byte) (d delivery, err error) {
	if d.payload, err = decode(body); err != nil {
		return d, err
	}
	d.identity = h.Get("Webhook-Id")
	if event, given := d.payload["type"]; given {
		var ok bool
		if d.event, ok = event.(string); !ok || !eventName.MatchString(d.event) {
			return d, errors.New("the type in the payload is no name of an event")
		}
		d.payload["event"] = d.event
	}
	return d, nil
}
