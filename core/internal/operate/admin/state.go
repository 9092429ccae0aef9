package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/page"
)

// Bounds of what the state page is shown, which asks every few seconds.
const (
	shownDead    = 100     // letters
	shownText    = 500     // characters of a letter, and of its error
	shownDays    = 30      // of usage
	shownHours   = 7 * 24  // of latency
	maxLoginForm = 4 << 10 // bytes
	stopTime     = 10 * time.Second
	byPage       = "the state page"
)

// LoggedIn is the response to a login to the state page.
type LoggedIn struct {
	Key string `json:"key"` // that further requests must send in the header X-Clawhost, beside the cookie
}

// DayUsage is what one model has used on one day.
type DayUsage struct {
	Day   string       `json:"day"` // such as 2026-03-15
	Model string       `json:"model,omitempty"`
	Usage domain.Usage `json:"usage"`
}

// statePage serves the page, and returns the sessions of its browsers, and what they may ask for.
func (s *Server) statePage(mux *http.ServeMux, open *connections) (*page.Sessions, http.Handler) {
	browsers, operators := &page.Sessions{}, http.NewServeMux()
	s.reads(operators)
	operators.HandleFunc("GET /v1/queue/dead", answer(func(r *http.Request) (any, error) { return s.deadLetters(r, shownDead, shownText) }))
	s.acts(operators, byPage)
	operators.HandleFunc("GET /v1/runs", answer(s.runs))
	operators.HandleFunc("POST /v1/turns/stop", answer(s.stopTurn))
	operators.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		browsers.End(w, r)
		_ = json.NewEncoder(w).Encode(struct{}{})
	})
	mux.Handle("GET /{$}", page.Files())
	mux.Handle("GET /page/", page.Files())
	mux.Handle("POST /login", page.Data(s.enter(open, browsers)))
	return browsers, page.Data(s.recorded(operators))
}

// enter begins a session of the state page for who sends the token in the body of the request.
func (s *Server) enter(open *connections, browsers *page.Sessions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxLoginForm)
		switch {
		case !page.SameOrigin(r):
			refuse(w, http.StatusForbidden, "the request comes from a page of another site")
		case !s.isToken(r.PostFormValue("token")):
			s.log.Debug("refused a login to the state page", "from", r.RemoteAddr)
			refuse(w, http.StatusUnauthorized, "this is not the token; it is admin.token of the config")
		default:
			s.admitted(open, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				key := browsers.Begin(w, r)
				s.log.Info("a browser has logged in to the state page", "from", r.RemoteAddr)
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(LoggedIn{key})
			})).ServeHTTP(w, r)
		}
	})
}

// isToken reports whether a text is the token, in a time that says nothing of it.
func (s *Server) isToken(text string) bool {
	want, got := sha256.Sum256([]byte(s.options.Remote.Token)), sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// recorded logs what is done on the state page.
func (s *Server) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			s.log.Info("the state page was used", "request", r.URL.Path, "from", r.RemoteAddr)
		}
		next.ServeHTTP(w, r)
	})
}

// stopTurn stops the turn of a session that runs. What waits for it stays.
func (s *Server) stopTurn(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), stopTime)
	defer cancel()
	key := r.FormValue("session")
	stopped, err := s.options.Host.Dispatcher.Stop(ctx, time.Now(), key)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errors.New("the turn is being stopped, and has not ended yet")
	case err == nil && !stopped:
		return nil, missing(fmt.Sprintf("no turn of the session %q runs", key))
	}
	return struct{}{}, err
}

// HourLatency is how long people have waited for the turns that ended in one hour.
type HourLatency struct {
	At        time.Time `json:"at,omitzero"` // the begin of the hour
	FirstWord Spread    `json:"first_word"`  // until their chat could see the first part of the answer, or of the progress
	Answer    Spread    `json:"answer"`      // until the whole answer was durable
}

// Spread is how times are spread, within 5 percent.
type Spread struct {
	Count  int64 `json:"count"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

// latency responds with the latency of each of the last hours that had turns.
func (s *Server) latency(r *http.Request) (any, error) {
	hours, err := s.options.Store.LatencyByHour(r.Context(), time.Now().Add(-shownHours*time.Hour))
	list := make([]HourLatency, 0, len(hours))
	for _, h := range hours {
		list = append(list, HourLatency{At: h.At, FirstWord: spread(h.FirstWord), Answer: spread(h.Answer)})
	}
	return list, err
}

func spread(s domain.Spread) Spread {
	return Spread{Count: s.Count, Median: s.Median.Milliseconds(), P95: s.P95.Milliseconds()}
}

// usage responds with the usage of the last days, which are those of the agent, as the turns are counted for.
func (s *Server) usage(r *http.Request) (any, error) {
	today := time.Now().In(s.options.Host.Config.Get().Agent.Timezone)
	days, err := s.options.Store.UsageByDay(r.Context(), today.AddDate(0, 0, 1-shownDays).Format(time.DateOnly))
	shown := make([]DayUsage, 0, len(days))
	for _, d := range days {
		shown = append(shown, DayUsage(d))
	}
	return shown, err
}

// shorten cuts a text after so many characters; zero: it stays.
func shorten(text string, limit int) string {
	count := 0
	for i := range text {
		if count++; limit > 0 && count > limit {
			return text[:i] + "…"
		}
	}
	return text
}
