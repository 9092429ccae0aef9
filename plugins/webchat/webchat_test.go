package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// host is the host's side of a channel: it notes what is submitted and what is reported.
type host struct {
	// verdict answers a submission; nil accepts all.
	verdict verdict

	mu     sync.Mutex
	seen   map[chat.EventID]bool
	events []chat.Event // accepted, in order
	typed  []chat.Typing

	reported chan string // the page's URL
}

func (h *host) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	if h.verdict != nil {
		if verdict, err := h.verdict(ctx, e); err != nil || verdict == chat.Rejected {
			return verdict, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[e.ID] {
		return chat.Duplicate, nil
	}
	h.seen[e.ID] = true
	h.events = append(h.events, e)
	return chat.Accepted, nil
}

func (h *host) Typing(t chat.Typing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typed = append(h.typed, t)
}

func (h *host) Report(chat.State, string) {}

func (h *host) ReportURL(_ chat.State, _, url string) { h.reported <- url }

func (h *host) texts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var texts []string
	for _, e := range h.events {
		if m, ok := e.Body.(chat.Message); ok {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// bundle is a web chat that runs.
type bundle struct {
	*channel
	host  *host
	files mediaStore
	dir   string
	base  string // http://127.0.0.1:port
	token string
	page  *webchattest.Page
	stop  func() // ends Run and Stop, once
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return start(t, t.TempDir(), nil)
}

// verdict decides what becomes of an event.
type verdict func(context.Context, chat.Event) (chat.Verdict, error)

// start runs a web chat on a state folder and a free port.
func start(t *testing.T, dir string, v verdict) *bundle {
	t.Helper()
	return startAt(t, dir, "127.0.0.1:0", v)
}

func startAt(t *testing.T, dir, listen string, v verdict) *bundle {
	t.Helper()
	store := mediaStore{dir: filepath.Join(dir, "media"), begun: make(chan struct{}, maxTransfers)}
	env := sdk.Env{Log: slog.New(slog.DiscardHandler), Instance: "webchat", StateDir: dir, Media: store}
	c, err := open(t.Context(), env, config{Listen: listen})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{verdict: v, seen: make(map[chat.EventID]bool), reported: make(chan string, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx, h) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	t.Cleanup(stop)
	u, err := url.Parse(<-h.reported)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimPrefix(u.Fragment, "token=")
	page := webchattest.New(token)
	t.Cleanup(page.Close)
	return &bundle{channel: c, host: h, files: store, dir: dir, stop: stop, base: "http://" + u.Host, token: token, page: page}
}

// request makes a request of the page. Change may make it another one.
func (b *bundle) request(t *testing.T, method, path string, body any, change func(*http.Request)) *http.Response {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.base+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", b.base)
	}
	if change != nil {
		change(r)
	}
	answer, err := b.page.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// post sends a message and returns the status and what was answered.
func (b *bundle) post(t *testing.T, id, text string) (int, map[string]any) {
	t.Helper()
	answer := b.request(t, http.MethodPost, "/api/messages", map[string]string{"id": id, "text": text}, nil)
	var got map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, got
}

// say posts a new message that must be taken.
func (b *bundle) say(t *testing.T, text string) {
	t.Helper()
	if status, got := b.post(t, uuid.NewString(), text); status != http.StatusOK {
		t.Fatalf("post %q: %d %v", text, status, got)
	}
}

// send has the host send a message under a key of its own.
func (b *bundle) send(t *testing.T, text string) chat.MessageID {
	t.Helper()
	receipt, err := b.Send(t.Context(), chat.Outgoing{Key: uuid.NewString(), To: local, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.IDs[0]
}

// history returns a page of the history.
func (b *bundle) history(t *testing.T, query string) (messages []message, more bool) {
	t.Helper()
	answer := b.request(t, http.MethodGet, "/api/history"+query, nil, nil)
	var got struct {
		Messages []message `json:"messages"`
		More     bool      `json:"more"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got.Messages, got.More
}

// events is an open stream of events.
type events struct {
	t      *testing.T
	lines  *bufio.Scanner
	lastID int64
	beats  int // how often it said no more than that it lives
	close  func()
}

func (b *bundle) events(t *testing.T, after int64) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	answer := b.request(t, http.MethodGet, "/api/events", nil, func(r *http.Request) {
		*r = *r.WithContext(ctx)
		if after > 0 {
			r.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
		}
	})
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET /api/events: %s, %s", answer.Status, answer.Header.Get("Content-Type"))
	}
	return &events{t: t, lines: bufio.NewScanner(answer.Body), lastID: after, close: cancel}
}

// next returns the next event but for those that come with each stream.
func (e *events) next() (name string, data []byte) {
	e.t.Helper()
	for {
		if name, data = e.any(); name != "conversations" && name != "commands" {
			return name, data
		}
	}
}

// live returns the next event, which must tell what goes on.
func (e *events) live() liveView {
	e.t.Helper()
	name, data := e.nextBut("message")
	var view liveView
	if err := json.Unmarshal(data, &view); err != nil || name != "live" {
		e.t.Fatalf("event %q %s: %v", name, data, err)
	}
	return view
}

func (e *events) nextBut(other string) (name string, data []byte) {
	e.t.Helper()
	for {
		if name, data = e.next(); name != other {
			return name, data
		}
	}
}

// any returns the next event, past what only says that the stream lives.
func (e *events) any() (name string, data []byte) {
	e.t.Helper()
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch {
		case field == "id":
			e.lastID, _ = strconv.ParseInt(value, 10, 64)
		case field == "event":
			name = value
		case e.lines.Text() == ": alive":
			e.beats++
		case field == "data":
			data = []byte(value)
		case e.lines.Text() == "" && name != "":
			return name, data
		}
	}
	e.t.Fatalf("the stream ended: %v", e.lines.Err())
	return "", nil
}

// message returns the next event, which must be a message, as "author state text".
func (e *events) message() string {
	e.t.Helper()
	name, data := e.nextBut("live")
	var m message
	if err := json.Unmarshal(data, &m); err != nil || name != "message" {
		e.t.Fatalf("event %q %s: %v", name, data, err)
	}
	return describe(m)
}

func describe(m message) string {
	text := m.HTML
	if m.From == user {
		text = m.Text
	}
	if m.Deleted {
		text = "deleted"
	}
	for _, f := range m.Files {
		text += " [" + f.Kind + " " + f.Name + "]"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", m.From, m.State, strings.TrimSpace(text)))
}

func describeAll(messages []message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, describe(m))
	}
	return all
}

var local = chat.Address{Channel: "webchat", Chat: "local"}
