package telegramtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Fault is what goes wrong with a request instead of, or on top of, its answer.
type Fault struct {
	wait    time.Duration
	until   <-chan struct{}  // nil: it does not wait
	instead http.HandlerFunc // the request is not processed
	behind  http.HandlerFunc // it is, but this is the answer
}

// TooManyRequests is the answer 429 with a time to wait, in whole seconds.
func TooManyRequests(retryAfter time.Duration) Fault {
	return Fault{instead: func(w http.ResponseWriter, _ *http.Request) { answer(w, tooMany(retryAfter)) }}
}

// Refuse is an answer with an error in Telegram's form, such as 403, "Forbidden: bot was kicked from the group chat".
func Refuse(code int, description string) Fault {
	return Fault{instead: func(w http.ResponseWriter, _ *http.Request) { answer(w, failed(code, description)) }}
}

// NotJSON is an answer that is not the Bot API's, as a proxy or a load balancer gives it.
func NotJSON(status int) Fault {
	return Fault{instead: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<html><h1>%d %s</h1></html>", status, http.StatusText(status))
	}}
}

// CutBefore closes the connection before the request is processed.
func CutBefore() Fault { return Fault{instead: cut} }

// CutAfter processes the request and closes the connection without an answer.
func CutAfter() Fault { return Fault{behind: cut} }

// CutWithin answers with the beginning of an answer and closes the connection.
func CutWithin() Fault {
	return Fault{instead: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"ok":true,"result":[`)
	}}
}

// Endless answers with more and more until the bot has enough.
func Endless() Fault {
	return Fault{instead: func(w http.ResponseWriter, r *http.Request) {
		more := []byte(`{"ok":true,"result":[` + strings.Repeat(" ", 1<<16))
		for r.Context().Err() == nil {
			if _, err := w.Write(more); err != nil {
				return
			}
		}
	}}
}

// HangAfter processes the request and answers nothing until the bot gives up.
func HangAfter() Fault {
	return Fault{behind: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
}

// Slow processes the request after a while.
func Slow(d time.Duration) Fault { return Fault{wait: d} }

// Stalled processes the request once a channel is closed.
func Stalled(until <-chan struct{}) Fault { return Fault{until: until} }

// ordered is a fault that waits for its requests.
type ordered struct {
	method string
	left   int
	fault  Fault
}

// Fail has the next n requests of a method (empty: of any) fail. Faults of one method are taken in the order in which
// they were ordered.
func (s *Server) Fail(method string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &ordered{method: method, left: n, fault: f})
}

// Heal forgets the faults that no request has met yet, and ends [Server.Chaos].
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chaos = nil, nil
}

func (s *Server) takeFault(method string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.faults {
		if o.left > 0 && (o.method == "" || strings.EqualFold(o.method, method)) {
			o.left--
			return o.fault
		}
	}
	return s.chaos.fault()
}

// delay waits as long as the fault says, or until the bot gives up.
func (f Fault) delay(ctx context.Context) {
	if f.until != nil {
		select {
		case <-f.until:
		case <-ctx.Done():
		}
	}
	if f.wait <= 0 {
		return
	}
	timer := time.NewTimer(f.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// cut resets the connection.
func cut(w http.ResponseWriter, _ *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}
