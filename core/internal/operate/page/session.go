package page

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// Header is the header in which the page sends the key of its session.
	Header = "X-Clawhost"

	maxSessions = 32             // a further one ends the one that was not used for the longest
	idleTime    = 12 * time.Hour // a session that was not used for so long has ended
)

// Sessions are the browsers that have logged in. They end with the host.
//
// A session has two secrets. Browsers send the cookie to all servers with the same name, whatever their ports. The page keeps the
// key, which pages of other ports cannot read, and sends it in a header, which a form cannot. Neither is of use without the other.
type Sessions struct {
	mu   sync.Mutex
	open []session // in the order in which they were used
}

// session is one of the [Sessions].
type session struct {
	cookie, key [sha256.Size]byte // sums of the secrets
	used        time.Time
}

// Begin begins a session, sets its cookie, and returns its key.
func (s *Sessions) Begin(w http.ResponseWriter, r *http.Request) (key string) {
	cookie, key := rand.Text(), rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if len(s.open) == maxSessions {
		s.open = s.open[1:]
	}
	s.open = append(s.open, session{sha256.Sum256([]byte(cookie)), sha256.Sum256([]byte(key)), time.Now()})
	setCookie(w, r, cookie, 0)
	return key
}

// Has reports whether a request comes from the page in a browser with a session, which is then in use.
func (s *Sessions) Has(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	i := s.find(r)
	if i < 0 {
		return false
	}
	used := s.open[i]
	used.used = time.Now()
	s.open = append(slices.Delete(s.open, i, i+1), used)
	return true
}

// End ends the session of a request.
func (s *Sessions) End(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(r); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
		setCookie(w, r, "", -1)
	}
}

// find returns the place of a request's session, or -1. The caller holds the lock.
func (s *Sessions) find(r *http.Request) int {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || !SameOrigin(r) {
		return -1
	}
	wantCookie, wantKey := sha256.Sum256([]byte(cookie.Value)), sha256.Sum256([]byte(r.Header.Get(Header)))
	return slices.IndexFunc(s.open, func(o session) bool {
		return subtle.ConstantTimeCompare(o.cookie[:], wantCookie[:])&subtle.ConstantTimeCompare(o.key[:], wantKey[:]) == 1
	})
}

// expire ends the sessions that were not used for too long. The caller holds the lock.
func (s *Sessions) expire() {
	s.open = slices.DeleteFunc(s.open, func(o session) bool { return time.Since(o.used) >= idleTime })
}

// SameOrigin reports whether a request does not come from a page of another origin, as far as the browser says. Browsers of the last
// years say it.
func SameOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin"
}

// cookieName names the port: a browser sends a cookie to all hosts of a machine, and each needs its own.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return strings.TrimSuffix("clawhost-state-"+port, "-")
}

// setCookie sets the cookie of the session that is in use; a negative age removes it.
func setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	secure := r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure where the page came by TLS; the host itself has none
		Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	})
}
