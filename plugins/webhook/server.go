package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/clawhost/clawhost/sdk"
)

// Limits of requests.
const (
	maxConnections = 256
	maxRequests    = 16              // that are read or passed on; others wait
	answerTime     = 9 * time.Second // from its beginning; GitHub waits for ten
	waitTime       = 5 * time.Second // of that, for others
	headerTime     = 5 * time.Second
	requestTime    = 10 * time.Second // to send it whole
	idleTime       = 30 * time.Second
	maxHeaders     = 16 << 10
	stopTime       = 3 * time.Second
)

// retryAfter is when to send again what could not be taken, in seconds.
const retryAfter = "10"

// turns is what the server needs of the host's turns.
type turns interface {
	Begin(ctx context.Context, t sdk.Turn) error
}

// server receives requests and begins turns.
type server struct {
	log      *slog.Logger
	listener net.Listener // nil: requests come by the host only
	maxBody  int64
	hooks    map[string]*hook
	turns    turns
	seen     *seen
	failures *failures
	places   chan struct{} // has a value for each request that is read or passed on
}

func newServer(env sdk.Env, l net.Listener, maxBody int, hooks map[string]*hook) *server {
	return &server{
		log: env.Log, listener: l, maxBody: int64(maxBody), hooks: hooks, turns: env.Turns,
		seen: newSeen(env.State), failures: newFailures(env.Log), places: make(chan struct{}, maxRequests),
	}
}

// HTTPHandler answers the requests that come by the host.
func (s *server) HTTPHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(context.WithoutCancel(r.Context()), w, r) })
}

// Run serves requests until ctx ends. None is processed any more when it returns.
func (s *server) Run(ctx context.Context) error {
	if s.listener == nil {
		<-ctx.Done()
		s.occupy()
		return nil
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx)) // requests have some time more
	served := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(working, w, r) }),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      requestTime + answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.log.Info("webhooks are received", "address", s.listener.Addr().String())
	defer s.occupy()
	defer cancel()
	defer served.Close()
	failed := make(chan error, 1)
	go func() { failed <- served.Serve(netutil.LimitListener(s.listener, maxConnections)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve webhooks: %w", err)
	case <-ctx.Done():
	}
	stopping, stopped := context.WithTimeout(working, stopTime)
	defer stopped()
	_ = served.Shutdown(stopping) // what then still runs is cancelled
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	return nil
}

// occupy takes all places, so that no request has one.
func (s *server) occupy() {
	for range cap(s.places) {
		s.places <- struct{}{}
	}
}

// Status says where it listens.
func (s *server) Status() string {
	if s.listener == nil {
		return "answering at the host's address"
	}
	return "listening on " + s.listener.Addr().String()
}

// answer is what a request is answered with.
type answer struct {
	status int
	text   string
	unread bool // the body was not read whole
}

var (
	notPost  = answer{status: http.StatusMethodNotAllowed, text: "send a POST request", unread: true}
	notFound = answer{status: http.StatusNotFound, text: "not found", unread: true}
	unsigned = answer{status: http.StatusUnauthorized, text: "the signature is missing, wrong or stale"}
	tooMany  = answer{status: http.StatusTooManyRequests, text: "too many requests without a valid signature"}
	tooLarge = answer{status: http.StatusRequestEntityTooLarge, text: "the body is too large", unread: true}
	broken   = answer{status: http.StatusBadRequest, text: "the body could not be read", unread: true}
	busy     = answer{status: http.StatusServiceUnavailable, text: later.text, unread: true}
	later    = answer{status: http.StatusServiceUnavailable, text: "this cannot be taken now; send it again later"}
	never    = answer{status: http.StatusInternalServerError, text: "the host refuses this until its operator changes something; its log says what"}
	pong     = answer{status: http.StatusOK, text: "pong"}
	ignored  = answer{status: http.StatusOK, text: "ignored: this event starts no turn"}
	known    = answer{status: http.StatusOK, text: "known: the same delivery was taken before"}
	taken    = answer{status: http.StatusAccepted, text: "taken"}
)

// serve answers a request. It ends with ctx, but not with its connection: a sender that is gone may not send again.
func (s *server) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	given := s.answer(ctx, w, r)
	h := w.Header()
	switch given.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", retryAfter)
	}
	if given.unread && r.ContentLength != 0 {
		h.Set("Connection", "close") // the rest of the body is not waited for
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(given.status)
	_, _ = io.WriteString(w, given.text+"\n")
}

func (s *server) answer(ctx context.Context, w http.ResponseWriter, r *http.Request) answer {
	if r.Method != http.MethodPost {
		return notPost
	}
	hook, ok := s.hooks[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		return notFound
	}
	waiting, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-waiting.Done():
		return busy
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge
	case err != nil:
		return broken
	}
	now := time.Now()
	if err := hook.form.authenticate(r.Header, body, now); err != nil {
		if !s.failures.note(hook.name, err, now) {
			return tooMany
		}
		return unsigned
	}
	d, err := hook.form.read(r.Header, body)
	if err != nil {
		return answer{status: http.StatusBadRequest, text: err.Error()}
	}
	return s.take(ctx, hook, d)
}

// take begins the turn of an authentic delivery, once. The sender may only learn that it is taken when the host has it: what
// fails before that is sent again, and the host knows the turn by its key.
func (s *server) take(ctx context.Context, h *hook, d delivery) answer {
	log := s.log.With("hook", h.name, "event", d.event)
	switch {
	case d.ping:
		return pong
	case !h.wants(d.event):
		return ignored
	}
	digest := d.digest()
	before, err := s.seen.has(ctx, h.name, digest)
	if err != nil {
		log.Error("a delivery cannot be taken now", "error", err)
		return later
	}
	if before {
		return known
	}
	text, err := h.template.render(d.payload)
	if err != nil {
		log.Warn("the template does not fit this payload, so the agent reads the payload itself", "at", err)
	}
	err = s.turns.Begin(ctx, h.turn(d, text))
	if errors.Is(err, sdk.ErrNotGranted) || errors.Is(err, errors.ErrUnsupported) {
		log.Error("a delivery cannot be taken", "error", err)
		return never
	}
	if err == nil {
		err = s.seen.add(ctx, h.name, digest)
	}
	if err != nil {
		log.Error("a delivery cannot be taken now", "error", err)
		return later
	}
	log.Info("a delivery begins a turn")
	return taken
}
