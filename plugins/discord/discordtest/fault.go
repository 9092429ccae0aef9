package discordtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Fault is what goes wrong with a REST request.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// TooManyRequests is the answer 429 for one route, with a time to wait.
func TooManyRequests(retryAfter time.Duration) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { tooMany(w, retryAfter, false) }
}

// TooManyOfAll is the answer 429 for all routes, with a time to wait.
func TooManyOfAll(retryAfter time.Duration) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { tooMany(w, retryAfter, true) }
}

// Refuse is an answer with an error in Discord's form, such as 403, 50001, "Missing Access".
func Refuse(status, code int, message string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { refuse(w, status, code, message) }
}

// NotJSON is an answer of something else than Discord.
func NotJSON(status int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<html>%d", status)
	}
}

// CutBefore closes the connection before the request is processed.
func CutBefore() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { cut(w) }
}

// CutAfter processes the request and closes the connection without an answer.
func CutAfter() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		cut(w)
	}
}

// Slow processes the request after a while.
func Slow(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

func cut(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

type ordered struct {
	method, part string
	left         int
	fault        Fault
}

// Fail has the next n requests of a method whose path has a part (empty: any) fail.
func (s *Server) Fail(method, part string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &ordered{method, part, n, f})
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chaos, s.disorder, s.mute, s.refusal = nil, nil, false, false, 0
	for _, session := range s.sessions {
		s.release(session)
	}
}

func (s *Server) faulty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := s.takeFault(r); fault != nil {
			fault(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) takeFault(r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.faults {
		if o.left > 0 && o.method == r.Method && strings.Contains(r.URL.Path, o.part) {
			o.left--
			return o.fault
		}
	}
	return s.chaos.fault()
}

// chaos scatters faults by a seed; nil means no faults.
type chaos struct {
	mu   sync.Mutex
	dice *rand.Rand
	only trouble // half of the events have it; none: any
}

// Chaos has about a fifth of the requests and events go wrong from now on: cuts before and after, closes, 429 of a route
// and of all, 5xx, garbage, events twice, lost sessions, slow answers.
func (s *Server) Chaos(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chaos = &chaos{dice: rand.New(rand.NewPCG(seed, 1))}
}

// Disorder has chaos also deliver messages after later ones.
func (s *Server) Disorder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disorder = true
}

func (c *chaos) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.IntN(n)
}

func (c *chaos) fault() Fault {
	if c == nil {
		return nil
	}
	switch c.roll(36) {
	case 0:
		return TooManyRequests(10 * time.Millisecond)
	case 1:
		return NotJSON(http.StatusBadGateway)
	case 2:
		return Refuse(http.StatusInternalServerError, 0, "500: Internal Server Error")
	case 3:
		return CutBefore()
	case 4:
		return CutAfter()
	case 5:
		return Slow(20 * time.Millisecond)
	case 6:
		return TooManyOfAll(5 * time.Millisecond)
	default:
		return nil
	}
}

// trouble is what becomes of an event.
type trouble int

const (
	none     trouble = iota
	twice            // with one number
	again            // with another number
	late             // after the next one
	lost             // the connection breaks
	closed           // by a code that leaves the session
	last             // it is the last of its connection
	asked            // the bot is asked to reconnect
	ended            // the session is not to be resumed
	garbage          // in its place
	nonsense         // in its place
)

// troubles are what may become of one event in sixty.
var troubles = []trouble{twice, twice, again, again, late, late, lost, closed, last, asked, ended, garbage, nonsense}

func (c *chaos) trouble() trouble {
	if c == nil {
		return none
	}
	if c.only != none {
		return []trouble{none, c.only}[c.roll(2)]
	}
	if n := c.roll(60); n < len(troubles) {
		return troubles[n]
	}
	return none
}

// deliver sends an event, or something else, or more.
func (t trouble) deliver(to *conn, e object) {
	switch t {
	case twice:
		to.send(e)
		to.send(e)
	case lost:
		to.close(0)
	case closed:
		to.close(4000)
	case last:
		to.send(e)
		to.close(1001)
	case asked:
		to.send(object{"op": 7})
	case ended:
		to.send(object{"op": 9, "d": false})
	case garbage:
		to.raw(`{"op":0,"s":`)
	case nonsense:
		to.raw(`[1,2]`)
	default:
		to.send(e)
	}
}

// each does something to each connection.
func (s *Server) each(do func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		do(c)
	}
}

// Cut breaks the connections of the gateway without a word.
func (s *Server) Cut() { s.each(func(c *conn) { c.close(0) }) }

// Close closes the connections of the gateway with a code.
func (s *Server) Close(code int) { s.each(func(c *conn) { c.close(code) }) }

// Reconnect asks the bot to reconnect.
func (s *Server) Reconnect() { s.each(func(c *conn) { c.send(object{"op": 7}) }) }

// Invalidate ends the sessions and says so.
func (s *Server) Invalidate() {
	s.Forget()
	s.each(func(c *conn) { c.send(object{"op": 9, "d": false}) })
}

// Forget ends the sessions, so that no bot can resume one.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// Garble sends text that is no event.
func (s *Server) Garble(text string) { s.each(func(c *conn) { c.raw(text) }) }

// RefuseWith closes what identifies or resumes with a code from now on.
func (s *Server) RefuseWith(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = code
}

// Heartbeat sets the interval of later connections, and whether heartbeats are acknowledged.
func (s *Server) Heartbeat(interval time.Duration, acknowledged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heartbeat, s.mute = interval, !acknowledged
}

// Identified counts the sessions that were begun, Resumed those that were resumed.
func (s *Server) Identified() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identifies
}

// Resumed counts the sessions that were resumed.
func (s *Server) Resumed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resumes
}

// Online reports whether the bot has a session on a connection.
func (s *Server) Online() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.session != nil && c.session.conn == c {
			return true
		}
	}
	return false
}

// Down has Discord be away until [Server.Up]: connections are cut, and new ones without an answer. What is said meanwhile
// is kept.
func (s *Server) Down() {
	s.mu.Lock()
	s.down = true
	s.mu.Unlock()
	s.Cut()
}

// Up has Discord be there again.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

func (s *Server) reachable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		down := s.down
		s.mu.Unlock()
		if down {
			cut(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
