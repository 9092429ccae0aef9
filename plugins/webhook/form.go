package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// form is a way in which senders sign and describe what they send.
type form interface {
	// authenticate returns an error for a request that is not signed with the secret.
	authenticate(h http.Header, body []byte, now time.Time) error
	// read reads an authentic request.
	read(h http.Header, body []byte) (delivery, error)
}

// delivery is an authentic request.
type delivery struct {
	// identity is the same in each repetition of a delivery. The sender has signed it.
	identity string
	event    string // with the action after a dot, if it has one
	payload  map[string]any
	ping     bool // it only tests the address
}

// digest identifies a delivery among those of a hook.
type digest [sha256.Size]byte

func (d delivery) digest() digest { return sha256.Sum256([]byte(d.identity)) }

var (
	errForm     = errors.New(`must be "github" or "plain"`)
	errUnsigned = errors.New("no signature")
	errWrong    = errors.New("wrong signature")
	errStale    = errors.New("stale timestamp")
)

// standardSecret is how secrets of Standard Webhooks begin; what follows is base64.
const standardSecret = "whsec_"

// newForm returns a form with a secret.
func newForm(name, secret string) (form, error) {
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, standardSecret); ok && name == "plain" {
		var err error
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, errors.New("after whsec_ there must be base64")
		}
	}
	if name != "github" && name != "plain" {
		return nil, errForm
	}
	if len(key) < minSecret {
		return nil, fmt.Errorf("must have at least %d bytes", minSecret)
	}
	if name == "github" {
		return github{key}, nil
	}
	return plain{key}, nil
}

// sign returns the HMAC of the parts after one another.
func sign(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
