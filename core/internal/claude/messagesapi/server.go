// Package messagesapi is a stand-in for Anthropic's Messages API on loopback, for tests that run the real claude CLI with
// no account and no network. It is test support; nothing that ships imports it.
//
// Like the API it refuses a request with a picture that it cannot read, or that is too large. Another one is answered with, in
// this order:
//
//  1. the next reply that the test put into the queue with [Server.Enqueue];
//
// 2. what [Options.Answer] says;
//  3. a fixed summary, if the CLI asks to compact its conversation;
//  4. the script in the last user text, "[[reply {…}]]" or "[[reply [{…}, {…}]]]", whose JSON is that of [Reply]. Of a
//     list the first answers the request that the text came with, the second the one after the first tool result, and so
//     on. It needs no state in the server, so that many sessions can be scripted at once;
//  5. [Options.Default], or else "echo: " and the last user text.
package messagesapi

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody limits the size of a request, in bytes, like the real API.
const maxBody = 32 << 20

// Options configure a [Server] for requests without a queued reply.
type Options struct {
	Key     string // the only credential that is accepted; empty: any
	Default Reply  // zero: an echo of the last user text
	// Answer, if not nil, is called for the reply after the queue, one call at a time; false continues with the other
	// sources.
	Answer func(Prompt) (Reply, bool)
}

// Server is a running stand-in. Its methods are safe for concurrent use.
type Server struct {
	options Options
	http    *httptest.Server
	cancel  context.CancelFunc // ends the context of all requests

	mu       sync.Mutex
	queue    []Reply
	requests []Request
	changed  chan struct{} // closed and replaced when requests grows
}

// New starts a server on a free port of 127.0.0.1. The caller closes it.
func New(options Options) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{options: options, cancel: cancel, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.recorded(s.messages))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.recorded(countTokens))
	mux.HandleFunc("/", s.recorded(notFound))
	s.http = httptest.NewUnstartedServer(mux)
	s.http.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	s.http.Start()
	return s
}

// URL returns the server's address, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.http.URL }

// Close aborts responses in progress, waits for the handlers and stops the server. It is called once.
func (s *Server) Close() {
	s.cancel()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Enqueue queues replies for the next requests for a message, one each.
func (s *Server) Enqueue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Queued returns the number of unused replies in the queue.
func (s *Server) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Requests lists all requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Messages lists the requests for a message so far, oldest first.
func (s *Server) Messages() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Prompt == nil })
}

// patience limits waits without a deadline.
const patience = 30 * time.Second

// Await returns the first request for a message that matches, waiting for it if necessary, or ctx's error.
func (s *Server) Await(ctx context.Context, fits func(Request) bool) (Request, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		for _, r := range s.Messages() {
			if fits(r) {
				return r, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, ctx.Err()
		}
	}
}

// recorded records a request before it is handled.
func (s *Server) recorded(answer func(http.ResponseWriter, *http.Request, Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			writeFailure(w, Failure{Status: http.StatusRequestEntityTooLarge, Message: err.Error()})
			return
		}
		request := newRequest(at, r, body)
		s.mu.Lock()
		s.requests = append(s.requests, request)
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		answer(w, r, request)
	}
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request, request Request) {
	if s.options.Key != "" && credential(r.Header) != s.options.Key {
		writeFailure(w, *Unauthorized().Failure)
		return
	}
	if request.Prompt == nil {
		writeFailure(w, Failure{Status: http.StatusBadRequest, Message: "the body is no messages request"})
		return
	}
	if why := request.Prompt.refused(); why != "" {
		writeFailure(w, Failure{Status: http.StatusBadRequest, Message: why})
		return
	}
	s.reply(*request.Prompt).serve(r.Context(), w, *request.Prompt, len(request.Body))
}

// reply chooses the reply; see the package comment.
func (s *Server) reply(p Prompt) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		return next
	}
	if s.options.Answer != nil {
		if r, ok := s.options.Answer(p); ok {
			return r
		}
	}
	if p.compaction() {
		return Reply{Text: "<summary>The conversation so far.</summary>"}
	}
	if scripted, ok := p.script(); ok {
		return scripted
	}
	if !s.options.Default.empty() {
		return s.options.Default
	}
	return Reply{Text: "echo: " + p.LastUserText()}
}

func countTokens(w http.ResponseWriter, _ *http.Request, request Request) {
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": tokens(len(request.Body))})
}

func notFound(w http.ResponseWriter, _ *http.Request, request Request) {
	writeFailure(w, Failure{Status: http.StatusNotFound, Message: "no " + request.Path})
}

// credential returns the client's credential, from either of the API's two headers.
func credential(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
