// Package telegramtest is a Telegram Bot API server on loopback, with people who write to its bot. It keeps to what the
// real one does where a bot's reliability depends on it: updates stay until a higher offset confirms them, a second
// poller ends the first one's poll with 409, texts and entities are checked, and errors have Telegram's codes and words.
//
// A test starts it with [New], points a bot at [Server.URL] with [Server.Token], writes as a [User] and waits for what
// the bot does with [Server.AwaitMessage] and its kind. Faults are ordered with [Server.Fail].
package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options says who the bot is.
type Options struct {
	Token    string // "<bot id>:<secret>"; default "4242:telegramtest-loopback-token-0123456789"
	Username string // without "@"; default "claw_bot"
}

// Server is the Bot API of one bot. All methods may be called from any goroutine.
type Server struct {
	token   string
	botID   int64
	address string

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	http     *http.Server
	serving  sync.WaitGroup
	bot      *User
	users    map[int64]*User
	chats    map[int64]*chatState
	updates  updateQueue
	messages []*Message
	calls    []Call
	faults   []*ordered
	files    map[string][]byte
	webhook  string
	commands []Command       // the menu
	lastID   int             // of messages, topics and queries
	queries  map[string]bool // callback queries that wait for an answer
	drafts   map[int64]Draft // by chat
	limit    limit
	chaos    *chaos
}

// Call is one request that the bot made.
type Call struct {
	Method string
	Params map[string]string
	Failed bool // it was answered with an error, or not at all
}

// New starts a server with default options that closes at the test's end.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on a free port of 127.0.0.1. The caller closes it.
func Start(o Options) (*Server, error) {
	if o.Token == "" {
		o.Token = "4242:telegramtest-loopback-token-0123456789"
	}
	if o.Username == "" {
		o.Username = "claw_bot"
	}
	s := &Server{
		token:   o.Token,
		address: "127.0.0.1:0",
		changed: make(chan struct{}),
		users:   map[int64]*User{},
		chats:   map[int64]*chatState{},
		files:   map[string][]byte{},
		queries: map[string]bool{},
		drafts:  map[int64]Draft{},
		lastID:  100, // Above the General topic.
		updates: newUpdateQueue(),
	}
	if _, err := fmt.Sscanf(o.Token, "%d:", &s.botID); err != nil {
		return nil, fmt.Errorf("token %q does not begin with the bot's id: %w", o.Token, err)
	}
	s.bot = &User{server: s, ID: s.botID, FirstName: "Claw", Username: o.Username, isBot: true}
	s.users[s.botID] = s.bot
	return s, s.Up()
}

// Up listens again after [Server.Down], at the same address.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.address = listener.Addr().String()
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.http = server
	go server.Serve(listener) // It ends with Down.
	return nil
}

// Down closes all connections and refuses new ones until [Server.Up]. When it returns no request is being served. What was
// sent and what waits is kept.
func (s *Server) Down() {
	s.mu.Lock()
	server := s.http
	s.http = nil
	s.mu.Unlock()
	if server != nil {
		server.Close()
		s.serving.Wait()
	}
}

// Close ends the server.
func (s *Server) Close() { s.Down() }

// URL is what a bot takes as its API endpoint.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "http://" + s.address
}

// Token is the bot's token.
func (s *Server) Token() string { return s.token }

// Bot is the bot's own account. It is there to be compared, mentioned and added to groups, not to write.
func (s *Server) Bot() *User { return s.bot }

// Calls are the requests for a method so far, in order of their end; an empty method means all.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(method)
}

func (s *Server) callsOf(method string) []Call {
	var calls []Call
	for _, c := range s.calls {
		if method == "" || strings.EqualFold(c.Method, method) {
			calls = append(calls, c)
		}
	}
	return calls
}

// AwaitCalls waits until a method was called n times and returns the calls.
func (s *Server) AwaitCalls(ctx context.Context, method string, n int) ([]Call, error) {
	var calls []Call
	err := s.await(ctx, func() bool {
		calls = s.callsOf(method)
		return len(calls) >= n
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d calls of %s: %w", len(calls), n, method, err)
	}
	return calls, nil
}

// patience bounds waits whose caller sets no deadline.
const patience = 30 * time.Second

// await waits until the condition, which it checks under the lock, holds, or until ctx ends.
func (s *Server) await(ctx context.Context, condition func() bool) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for {
		s.mu.Lock()
		done, changed := condition(), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notify wakes whoever waits. The lock is held.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.http == nil {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	if file, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+s.token+"/"); ok {
		s.serveFile(w, r, file)
		return
	}
	bot, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, method, found := strings.Cut(bot, "/")
	switch {
	case !ok || !found || !strings.Contains(token, ":"):
		answer(w, failed(http.StatusNotFound, "Not Found"))
	case token != s.token:
		answer(w, failed(http.StatusUnauthorized, "Unauthorized"))
	default:
		s.serveMethod(w, r, method)
	}
}

func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request, method string) {
	params, files, err := parseParams(r)
	if err != nil {
		answer(w, failed(http.StatusBadRequest, "Bad Request: "+err.Error()))
		return
	}
	fault := s.takeFault(method)
	fault.delay(r.Context())
	if fault.instead != nil {
		s.record(method, params, true)
		fault.instead(w, r)
		return
	}
	result := s.call(r.Context(), method, params, files)
	if fault.behind != nil {
		s.record(method, params, true)
		fault.behind(w, r)
		return
	}
	s.record(method, params, !result.OK)
	answer(w, result)
}

func (s *Server) record(method string, params map[string]string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Method: method, Params: params, Failed: failed})
	s.notify()
}

// parseParams takes parameters as the Bot API does: in the query, as a form, as multipart or as JSON. Files come with
// multipart only.
func parseParams(r *http.Request) (map[string]string, uploads, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return nil, nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	params := map[string]string{}
	switch kind := r.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/json"):
		var object map[string]json.RawMessage
		if err := json.Unmarshal(body, &object); err != nil {
			return nil, nil, err
		}
		for name, value := range object {
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			params[name] = text
		}
		r.Form = r.URL.Query()
	case strings.HasPrefix(kind, "multipart/"):
		err = r.ParseMultipartForm(64 << 20)
	default:
		err = r.ParseForm()
	}
	if err != nil {
		return nil, nil, err
	}
	for name, values := range r.Form {
		params[name] = values[0]
	}
	files, err := uploadsOf(r.MultipartForm)
	return params, files, err
}

// response is the Bot API's answer.
type response struct {
	OK          bool           `json:"ok"`
	Result      any            `json:"result,omitempty"`
	ErrorCode   int            `json:"error_code,omitempty"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
}

func succeeded(result any) response { return response{OK: true, Result: result} }

func failed(code int, description string) response {
	return response{ErrorCode: code, Description: description}
}

func badRequest(format string, args ...any) response {
	return failed(http.StatusBadRequest, "Bad Request: "+fmt.Sprintf(format, args...))
}

func answer(w http.ResponseWriter, r response) {
	w.Header().Set("Content-Type", "application/json")
	if r.OK {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(r.ErrorCode)
	}
	json.NewEncoder(w).Encode(r) // An error means that the bot is gone.
}
