package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// The first example is that of GitHub's documentation.
// Behaviour: webhook.
func TestSignaturesOfGitHub(t *testing.T) {
	t.Parallel()
	const right = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	const body = "Hello, World!"
	for name, test := range map[string]struct {
		signature, body string
		want            error
	}{
		"right":             {"sha256=" + right, body, nil},
		"upper case":        {"sha256=" + strings.ToUpper(right), body, nil},
		"another body":      {"sha256=" + right, body + " ", errWrong},
		"an empty body":     {"sha256=" + right, "", errWrong},
		"one letter wrong":  {"sha256=" + right[:63] + "8", body, errWrong},
		"shorter":           {"sha256=" + right[:62], body, errWrong},
		"longer":            {"sha256=" + right + "00", body, errWrong},
		"empty":             {"sha256=", body, errWrong},
		"no hexadecimal":    {"sha256=" + strings.Repeat("x", 64), body, errWrong},
		"missing":           {"", body, errUnsigned},
		"without a method":  {right, body, errUnsigned},
		"the old method":    {"sha1=" + right[:40], body, errUnsigned},
		"method upper case": {"SHA256=" + right, body, errUnsigned},
	} {
		f, err := newForm("github", testSecret)
		if err != nil {
			t.Fatal(err)
		}
		got := f.authenticate(header("X-Hub-Signature-256", test.signature), []byte(test.body), time.Now())
		if !errors.Is(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// The first example has the key and message of the libraries of Standard Webhooks.
// Behaviour: webhook.
func TestSignaturesOfThePlainForm(t *testing.T) {
	t.Parallel()
	const (
		id, stamp = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"
		body      = `{"test": 2432232314}`
		right     = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	sent := time.Unix(1614265330, 0)
	for name, test := range map[string]struct {
		id, stamp, signature, body string
		after                      time.Duration
		want                       error
	}{
		"right":                   {id, stamp, right, body, 0, nil},
		"at the end of its time":  {id, stamp, right, body, tolerance, nil},
		"a clock that is late":    {id, stamp, right, body, -tolerance, nil},
		"one of two":              {id, stamp, "v1,AAAA " + right, body, 0, nil},
		"beside another version":  {id, stamp, "v1a,AAAA " + right, body, 0, nil},
		"too old":                 {id, stamp, right, body, tolerance + time.Second, errStale},
		"too new":                 {id, stamp, right, body, -tolerance - time.Second, errStale},
		"too old and wrong":       {id, stamp, "v1,AAAA", body, time.Hour, errWrong},
		"another id":              {id + "x", stamp, right, body, 0, errWrong},
		"another time":            {id, "1614265331", right, body, 0, errWrong},
		"another body":            {id, stamp, right, body + " ", 0, errWrong},
		"a part of the id moved":  {id + "." + stamp, stamp, right, body, 0, errWrong},
		"an id with a line break": {id + "\n", stamp, right, body, 0, errWrong},
		"a time with a sign":      {id, "+" + stamp, right, body, 0, errWrong},
		"a time in the far":       {id, "99999999999999999999", right, body, 0, errWrong},
		"only another version":    {id, stamp, "v1a," + right[3:], body, 0, errWrong},
		"behind too many":         {id, stamp, strings.Repeat("v1,AAAA ", maxSignatures) + right, body, 0, errWrong},
		"no signature":            {id, stamp, "", body, 0, errUnsigned},
		"no time":                 {id, "", right, body, 0, errUnsigned},
		"no id":                   {"", stamp, right, body, 0, errUnsigned},
	} {
		f, err := newForm("plain", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		if err != nil {
			t.Fatal(err)
		}
		h := header("Webhook-Id", test.id, "Webhook-Timestamp", test.stamp, "Webhook-Signature", test.signature)
		if got := f.authenticate(h, []byte(test.body), sent.Add(test.after)); !errors.Is(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
