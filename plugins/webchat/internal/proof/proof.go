// Package proof is how a page and the web chat show each other that they know the same token, which itself is never sent.
//
// A page sends a nonce. The server answers with the id of a new session and a MAC over both: it cannot be made by a process that does not
// know the token, and a recorded one fits no other nonce. From then on each request carries the session, a number and a
// MAC over itself, and each part of an answer a MAC over the request, itself and its place. Every MAC names what it is for and
// the address that the page was opened at, so that none can be used for something else or passed on to another server.
package proof

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const (
	// Scheme is that of the Authorization header.
	Scheme = "Clawhost"
	// SessionPath is where a page begins a session, by a POST.
	SessionPath = "/api/session"

	protocol = "clawhost web chat 1"
	// A token that is shorter than 32 random bytes are is perhaps one that a person thought of. Anybody may ask the server for a
	// MAC, and could try words on it at leisure: so the key is made costly to try.
	long   = 43
	rounds = 600_000
)

// nonce is 32 bytes in base64.
var nonce = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// Hello is the body of a page's first request.
type Hello struct {
	Nonce string `json:"nonce"`
}

// NewHello has a nonce of its own.
func NewHello() Hello {
	random := make([]byte, 32)
	rand.Read(random)
	return Hello{encode(random)}
}

// Valid reports whether the nonce is one.
func (h Hello) Valid() bool { return nonce.MatchString(h.Nonce) }

// Welcome is the server's answer.
type Welcome struct {
	Session string `json:"session"`
	Proof   string `json:"proof"`
}

// Request is what a request is known by.
type Request struct {
	Session string
	Number  uint64 // of the requests of a session; none is used twice
	Method  string
	URI     string // path and query
	Sum     string // of the body, as [Sum] makes it
}

// Header returns the value of the Authorization header.
func (r Request) Header(mac string) string {
	return Scheme + " " + strings.Join([]string{r.Session, strconv.FormatUint(r.Number, 10), r.Sum, mac}, ":")
}

// ParseHeader is the reverse of [Request.Header]. The method and the URI are the request's own.
func ParseHeader(header, method, uri string) (r Request, mac string, ok bool) {
	value, ok := strings.CutPrefix(header, Scheme+" ")
	fields := strings.Split(value, ":")
	if !ok || len(fields) != 4 {
		return Request{}, "", false
	}
	number, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil || strconv.FormatUint(number, 10) != fields[1] {
		return Request{}, "", false
	}
	return Request{Session: fields[0], Number: number, Method: method, URI: uri, Sum: fields[2]}, fields[3], true
}

// Sum returns the checksum of a body.
func Sum(body []byte) string {
	sum := sha256.Sum256(body)
	return encode(sum[:])
}

// Key makes and checks MACs for one token.
type Key struct {
	token  string
	once   sync.Once
	secret []byte
}

// NewKey returns the key of a token. What is costly about it waits for the first use.
func NewKey(token string) *Key { return &Key{token: token} }

// Server returns the server's proof to a page that was opened at the authority, such as "127.0.0.1:7080".
func (k *Key) Server(authority string, hello Hello, session string) string {
	return k.mac("server", authority, hello.Nonce, session)
}

// Request returns a page's proof that it makes a request of the server at the authority.
func (k *Key) Request(authority string, r Request) string {
	return k.mac("request", authority, r.Session, strconv.FormatUint(r.Number, 10), r.Method, r.URI, r.Sum)
}

// Equal compares two proofs in a time that says nothing of them.
func Equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// mac is over lines: no field holds the end of one.
func (k *Key) mac(fields ...string) string {
	k.once.Do(k.stretch)
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(protocol))
	for _, field := range fields {
		h.Write([]byte("\n" + field))
	}
	return encode(h.Sum(nil))
}

func (k *Key) stretch() {
	k.secret = []byte(k.token)
	if len(k.token) >= long {
		return
	}
	secret, err := pbkdf2.Key(sha256.New, k.token, []byte(protocol), rounds, sha256.Size)
	if err != nil {
		panic(err) // the lengths are constants
	}
	k.secret = secret
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
