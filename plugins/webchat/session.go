package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"net/http"
	"sync"

	"github.com/clawhost/clawhost/plugins/webchat/internal/proof"
)

const (
	maxSessions   = 1024 // of which a request was made
	maxHandshakes = 8    // at the same time
	maxHello      = 1 << 10
)

// sessions knows which requests were made by pages that know the token, and lets none be made twice. Until a page has
// shown that it knows the token nothing is kept of it.
type sessions struct {
	key       *proof.Key
	authority string
	secret    [32]byte      // of this process, which the ids of its sessions are known by
	busy      chan struct{} // a slot a handshake

	mu     sync.Mutex
	issued uint64             // the number of the newest session
	oldest uint64             // sessions below are over
	used   map[uint64]*window // by the number of a session
}

func newSessions(key *proof.Key, authority string) *sessions {
	s := &sessions{key: key, authority: authority, busy: make(chan struct{}, maxHandshakes), used: make(map[uint64]*window)}
	rand.Read(s.secret[:])
	return s
}

// begin proves to a page that this server knows the token, and gives it a session.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxHello)
	var hello proof.Hello
	if !decode(w, r, &hello) {
		return
	}
	if !hello.Valid() {
		refuse(w, http.StatusBadRequest, "A session begins with a nonce of 32 bytes.")
		return
	}
	s.mu.Lock()
	s.issued++
	session := s.id(s.issued)
	s.mu.Unlock()
	respond(w, http.StatusOK, proof.Welcome{Session: session, Proof: s.key.Server(s.authority, hello, session)})
}

// authorized lets only requests pass that a page made which knows the token, each of them once. All answers to them are proven.
func (s *sessions) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, mac, ok := proof.ParseHeader(r.Header.Get("Authorization"), r.Method, r.RequestURI)
		if !ok || !proof.Equal(mac, s.key.Request(s.authority, request)) || !s.admit(request) {
			w.Header().Set("WWW-Authenticate", proof.Scheme)
			refuse(w, http.StatusUnauthorized, "This page's session is over, or it needs the link that the host shows.")
			return
		}
		r.Body = &checked{ReadCloser: r.Body, sum: sha256.New(), want: request.Sum}
		answer := s.key.Writer(w, s.authority, request)
		next.ServeHTTP(answer, r)
		_ = answer.Close() // a page that is gone asks again
	})
}

// admit reports whether a request belongs to a session and is not made a second time.
func (s *sessions) admit(r proof.Request) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(r.Session)
	if err != nil || len(decoded) < 8 {
		return false
	}
	number := binary.BigEndian.Uint64(decoded)
	if !hmac.Equal([]byte(r.Session), []byte(s.id(number))) {
		return false // of another process
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < s.oldest {
		return false
	}
	if s.used[number] == nil {
		if len(s.used) == maxSessions {
			s.forgetOldest()
		}
		s.used[number] = new(window)
	}
	return s.used[number].take(r.Number)
}

// forgetOldest ends the session that began before all others, and those before it that made no request: none of them may
// come again, for nobody would know what they have done. Their pages begin anew.
func (s *sessions) forgetOldest() {
	oldest := s.issued
	for number := range s.used {
		oldest = min(oldest, number)
	}
	delete(s.used, oldest)
	s.oldest = oldest + 1
}

// id returns a session's id: its number, and what only this process can make of it.
func (s *sessions) id(number uint64) string {
	encoded := binary.BigEndian.AppendUint64(nil, number)
	h := hmac.New(sha256.New, s.secret[:])
	h.Write(encoded)
	return base64.RawURLEncoding.EncodeToString(h.Sum(encoded)[:24])
}

// windowSize is by how many requests one may be overtaken on its way.
const windowSize = 1024

// window notes which numbers were used. They come roughly in order; one far below the highest counts as used.
type window struct {
	highest uint64
	used    [windowSize / 64]uint64 // a bit a number, modulo windowSize
}

// take reports whether a number was free, and marks it as used.
func (w *window) take(n uint64) bool {
	if n == 0 || n+windowSize < n || n+windowSize <= w.highest {
		return false
	}
	for w.highest < n {
		if n-w.highest > windowSize {
			w.highest = n - windowSize
		}
		w.highest++
		w.used[w.highest/64%uint64(len(w.used))] &^= 1 << (w.highest % 64)
	}
	word, bit := &w.used[n/64%uint64(len(w.used))], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

var errBody = errors.New("the body is not the one that was announced")

// checked reads a body, and fails at its end if it is not the one that the page vouched for.
type checked struct {
	io.ReadCloser
	sum  hash.Hash
	want string
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.sum.Write(b[:n])
	if errors.Is(err, io.EOF) && !proof.Equal(c.want, base64.RawURLEncoding.EncodeToString(c.sum.Sum(nil))) {
		return n, errBody
	}
	return n, err
}
