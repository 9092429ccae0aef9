package discordtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// allowance is how many messages each channel takes in a while.
type allowance struct {
	most int
	per  time.Duration
	used map[string][]time.Time // by channel
}

// Limit has each channel take only so many messages in a while, and say so as Discord does: what is left in each answer, and
// 429 to what is too much.
func (s *Server) Limit(most int, per time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowance = &allowance{most: most, per: per, used: map[string][]time.Time{}}
}

// Refused counts the requests that were too many.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tooMany
}

// LimitStarts lets the bot begin only so many sessions.
func (s *Server) LimitStarts(left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts = left
}

// LimitIdentify lets the bot begin a session only so long after the one before. Discord's limit is 5 seconds.
func (s *Server) LimitIdentify(every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identifyEvery = every
}

// Early counts the sessions that the bot wanted to begin too early. Each got the answer that it is invalid.
func (s *Server) Early() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.early
}

// ResumeAt has later sessions be resumed at another address, such as ws://127.0.0.1:8081/gateway.
func (s *Server) ResumeAt(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumeAt = address
}

// startsLeft is how many sessions the bot may still begin.
func (s *Server) startsLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starts < 0 {
		return 999
	}
	return s.starts
}

// limited counts the messages that are sent.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages") && !s.allow(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allow counts a message, says what is left, and answers if it is too much.
func (s *Server) allow(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.allowance
	if a == nil {
		return true
	}
	now, used := time.Now(), a.used[r.URL.Path]
	for len(used) > 0 && now.Sub(used[0]) >= a.per {
		used = used[1:]
	}
	over := len(used) >= a.most
	if !over {
		used = append(used, now)
	}
	a.used[r.URL.Path] = used
	reset := a.per - now.Sub(used[0])
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(a.most))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(a.most-len(used)))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(reset.Seconds(), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", "messages")
	if !over {
		return true
	}
	s.tooMany++
	tooMany(w, reset, false)
	return false
}

// tooMany answers 429 as Discord does: whole seconds in the header, all of them in the body.
func tooMany(w http.ResponseWriter, retryAfter time.Duration, global bool) {
	h := w.Header()
	h.Set("Retry-After", strconv.FormatInt(int64((retryAfter+time.Second-1)/time.Second), 10))
	h.Set("X-RateLimit-Scope", "user")
	if global {
		h.Set("X-RateLimit-Global", "true")
		h.Set("X-RateLimit-Scope", "global")
	}
	answer(w, http.StatusTooManyRequests, object{
		"message": "You are being rate limited.", "retry_after": retryAfter.Seconds(), "global": global,
	})
}
