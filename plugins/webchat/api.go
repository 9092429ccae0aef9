package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/yuin/goldmark"

	"github.com/clawhost/clawhost/sdk/chat"
)

// The limits of one request.
const (
	maxBody     = 256 << 10
	maxHistory  = 200
	maxRequests = 64 // at the same time, without the streams
	// answerWithin is how long a post waits for the host before the page is told to ask again.
	answerWithin = 45 * time.Second
	// writeWithin is how long a page may take to take what is written to it.
	writeWithin = 10 * time.Second
)

// idPattern is a UUID as crypto.randomUUID writes it. A page names its messages by one, so that a message sent again is
// the same message.
var idPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// api answers the page's requests.
type api struct {
	journal  *journal
	typing   *typing
	changed  *broadcast
	markdown goldmark.Markdown
	title    string
	log      hclog.Logger
	// submit hands an event to the host. It ends with the channel, not with the request.
	submit  func(chat.Event) (chat.Verdict, error)
	busy    chan struct{} // a slot a request
	streams chan struct{} // a slot a stream
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /api/messages", a.limited(a.postMessage))
	mux.Handle("POST /api/buttons", a.limited(a.postButton))
	mux.Handle("GET /api/history", a.limited(a.getHistory))
	mux.HandleFunc("GET /api/events", a.getEvents)
	return mux
}

func (a *api) limited(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case a.busy <- struct{}{}:
			defer func() { <-a.busy }()
			next(w, r)
		default:
			refuse(w, http.StatusServiceUnavailable, "Too many requests at once.")
		}
	})
}

// postMessage keeps a message, and answers once the host has it. The same id again is the same message.
func (a *api) postMessage(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	if !decode(w, r, &in) {
		return
	}
	if !idPattern.MatchString(in.ID) || strings.TrimSpace(in.Text) == "" {
		refuse(w, http.StatusBadRequest, "A message has an id (a UUID) and a text.")
		return
	}
	id := chat.MessageID(in.ID)
	_, added, err := a.journal.say(record{ID: id, Text: in.Text, At: time.Now().UTC()})
	if errors.Is(err, errTooMany) {
		refuse(w, http.StatusServiceUnavailable, "Too many messages wait for the host.")
		return
	}
	if err != nil {
		a.log.Error("message not kept", "error", err)
		refuse(w, http.StatusInternalServerError, "The message could not be kept; see the host's log.")
		return
	}
	switch a.settled(r.Context(), id) {
	case accepted:
		respond(w, http.StatusOK, map[string]any{"id": in.ID, "duplicate": !added})
	case rejected:
		refuse(w, http.StatusUnprocessableEntity, "The host refused this message; its log says why.")
	default:
		refuse(w, http.StatusServiceUnavailable, "The host has not taken the message yet.")
	}
}

// settled waits until the host has accepted or rejected a message, for a while.
func (a *api) settled(ctx context.Context, id chat.MessageID) state {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		changed := a.changed.next()
		r, ok := a.journal.get(id)
		if !ok || r.State != pending {
			return r.State
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return pending
		}
	}
}

// postButton presses a button of a message of the agent.
func (a *api) postButton(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID      string         `json:"id"`
		Message chat.MessageID `json:"message"`
		Data    string         `json:"data"`
	}
	if !decode(w, r, &in) {
		return
	}
	if !idPattern.MatchString(in.ID) {
		refuse(w, http.StatusBadRequest, "A press has an id (a UUID).")
		return
	}
	if m, ok := a.journal.get(in.Message); !ok || !m.hasButton(in.Data) {
		refuse(w, http.StatusNotFound, "This button is gone.")
		return
	}
	verdict, err := a.submit(event(in.ID, time.Now(), chat.ButtonPress{MessageID: in.Message, Data: in.Data}))
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "The host is not there.")
	case verdict == chat.Rejected:
		refuse(w, http.StatusUnprocessableEntity, "The host refused this; its log says why.")
	default:
		respond(w, http.StatusOK, map[string]any{"id": in.ID, "duplicate": verdict == chat.Duplicate})
	}
}

// getHistory answers with the newest messages before one, or the newest of all, oldest first.
func (a *api) getHistory(w http.ResponseWriter, r *http.Request) {
	before, ok1 := number(r.URL.Query().Get("before"), 0)
	limit, ok2 := number(r.URL.Query().Get("limit"), 50)
	if !ok1 || !ok2 || limit < 1 {
		refuse(w, http.StatusBadRequest, "before and limit are numbers.")
		return
	}
	records, more, last := a.journal.before(before, int(min(limit, maxHistory)))
	messages := make([]message, 0, len(records))
	for _, rec := range records {
		messages = append(messages, a.show(rec))
	}
	respond(w, http.StatusOK, map[string]any{"title": a.title, "messages": messages, "more": more, "last": last})
}

// message is a record as the page gets it.
type message struct {
	Seq     int64          `json:"seq"`
	Rev     int64          `json:"rev"`
	ID      chat.MessageID `json:"id"`
	From    author         `json:"from"`
	At      time.Time      `json:"at"`
	Text    string         `json:"text,omitempty"` // of the user, to be shown as it is
	HTML    string         `json:"html,omitempty"` // of the agent, safe to insert
	Buttons [][]button     `json:"buttons,omitempty"`
	State   state          `json:"state,omitempty"`
	Edited  bool           `json:"edited,omitempty"`
	Deleted bool           `json:"deleted,omitempty"`
}

type button struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

func (a *api) show(r record) message {
	m := message{
		Seq: r.Seq, Rev: r.Rev, ID: r.ID, From: r.From, At: r.At, State: r.State, Edited: r.Edited, Deleted: r.Deleted,
	}
	for _, row := range r.Buttons {
		var shown []button
		for _, b := range row {
			shown = append(shown, button(b))
		}
		m.Buttons = append(m.Buttons, shown)
	}
	switch {
	case r.Deleted:
	case r.From == user:
		m.Text = r.Text
	default:
		m.HTML = render(a.markdown, r.Text)
	}
	return m
}

// decode reads a JSON body. It answers the request itself if there is none.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "The body must be application/json.")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "A message has at most 256 KiB.")
		return false
	}
	if err != nil || json.Unmarshal(body, into) != nil {
		refuse(w, http.StatusBadRequest, "The body is no valid JSON.")
		return false
	}
	// The server's deadline is for reading the request; the wait for the host comes on top.
	return http.NewResponseController(w).SetReadDeadline(time.Time{}) == nil
}

func number(s string, absent int64) (int64, bool) {
	if s == "" {
		return absent, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// respond writes a JSON answer. A page that is gone by then asks again.
func respond(w http.ResponseWriter, status int, answer any) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	respond(w, status, map[string]string{"error": reason})
}
