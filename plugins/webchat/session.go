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
	maxSessions   = 1024 // with at least one request
	maxHandshakes = 8    // at the same time
	maxHello      = 1 << 10
)

// sessions authenticates requests: they must be from pages that know the token, and unique. Until a page has proved that it
// knows the token nothing is stored for it.
type sessions struct {
	key       *proof.Key
	authority string
	secret    [32]byte      // of this process, which authenticates its session ids
	busy      chan struct{} // one slot per handshake

	mu     sync.Mutex
	issued uint64             // the number of the newest session
	oldest uint64             // sessions below have ended
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

// authorized passes only requests of pages that know the token, each once. All responses to them are authenticated.
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

// admit reports whether a request belongs to a session and is not a replay.
func (s *sessions) admit(r proof.Request) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(r.Session)
	if err != nil || len(decoded) < 8 {
		return false
	}
	number := binary.BigEndian.Uint64(decoded)
	if !hmac.Equal([]byte(r.Session), []byte(s.id(number))) {
		return false // from another process
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < s.oldest {
		return false
	}
	if s.used[number] == nil {
		if len(s.used) == maxSessions {
			s.endOldest()
		}
		s.used[number] = new(window)
	}
	return s.used[number].take(r.Number)
}

// endOldest ends the oldest session with requests, and all before it. Their requests are refused from then on, because
// replays could no longer be detected. Their pages start a new session.
func (s *sessions) endOldest() {
	oldest := s.issued
	for number := range s.used {
		oldest = min(oldest, number)
	}
	delete(s.used, oldest)
	s.oldest = oldest + 1
}

// id returns a session's id: its number, authenticated by this process.
func (s *sessions) id(number uint64) string {
	encoded := binary.BigEndian.AppendUint64(nil, number)
	h := hmac.New(sha256.New, s.secret[:])
	h.Write(encoded)
	return base64.RawURLEncoding.EncodeToString(h.Sum(encoded)[:24])
}

// windowSize is the maximum reordering of requests.
const windowSize = 1024

// window records used numbers. They arrive roughly in order; one far below the highest counts as used.
type window struct {
	highest uint64
	used    [windowSize / 64]uint64 // a bit per number, modulo windowSize
}

// take reports whether a number was unused, and marks it as used.
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

var errBody = errors.New("the body differs from the announced one")

// checked reads a body, and fails at its end if it differs from what the page authenticated.
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
