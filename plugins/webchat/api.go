package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of a request.
const (
	maxBody     = 256 << 10
	maxHistory  = 200
	maxRequests = 64 // at the same time, without the streams and files
	// answerWithin limits how long a post waits for the host before the page is asked to retry.
	answerWithin = 45 * time.Second
	// writeWithin limits how long a page may take to receive a write.
	writeWithin = 10 * time.Second
)

// idPattern matches a UUID as crypto.randomUUID writes it. A page uses one to identify its messages and conversations, so
// that retries are idempotent.
var idPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// api answers the page's requests.
type api struct {
	journal *journal
	live    *live
	menu    *menu
	media   sdk.Media
	changed *broadcast
	render  func(markdown string) string
	title   string
	demo    bool // a stand-in answers, not Claude
	log     *slog.Logger
	// submit submits an event to the host. It ends with the channel, not with the request.
	submit    func(chat.Event) (chat.Verdict, error)
	typing    func(chat.Typing)
	busy      chan struct{} // one slot per request
	transfers chan struct{} // one slot per file transfer
	streams   chan struct{} // one slot per stream
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /api/state", limited(a.busy, a.getState))
	mux.Handle("GET /api/history", limited(a.busy, a.getHistory))
	mux.Handle("GET /api/search", limited(a.busy, a.getSearch))
	mux.Handle("POST /api/messages", limited(a.busy, a.postMessage))
	mux.Handle("POST /api/edits", limited(a.busy, a.postEdit))
	mux.Handle("POST /api/buttons", limited(a.busy, a.postButton))
	mux.Handle("POST /api/stop", limited(a.busy, a.postStop))
	mux.Handle("POST /api/typing", limited(a.busy, a.postTyping))
	mux.Handle("POST /api/files", limited(a.transfers, a.postFile))
	mux.Handle("GET /api/files/{ref}", limited(a.transfers, a.getFile))
	mux.Handle("PUT /api/conversations/{id}", limited(a.busy, a.putConversation))
	mux.Handle("DELETE /api/conversations/{id}", limited(a.busy, a.deleteConversation))
	mux.HandleFunc("GET /api/events", a.getEvents)
	return mux
}

func limited(slots chan struct{}, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "Too many requests at once.")
		}
	})
}

// getState returns what the page needs besides messages. Last is the revision to follow from.
func (a *api) getState(w http.ResponseWriter, _ *http.Request) {
	last := a.journal.last()
	conversations, _ := a.journal.conversations()
	commands, _ := a.menu.list()
	respond(w, http.StatusOK, map[string]any{
		"title": a.title, "demo": a.demo, "conversations": conversations, "commands": commands, "last": last,
		"limits": map[string]int{"files": maxFiles, "file_bytes": maxUpload, "text_bytes": maxBody - 1024},
	})
}

// getHistory returns a conversation's newest messages before a given one, or the newest of all, oldest first.
func (a *api) getHistory(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	before, ok1 := number(query.Get("before"), 0)
	limit, ok2 := number(query.Get("limit"), 50)
	if !ok1 || !ok2 || limit < 1 {
		refuse(w, http.StatusBadRequest, "before and limit are numbers.")
		return
	}
	records, more := a.journal.before(chat.ThreadID(query.Get("conversation")), before, int(min(limit, maxHistory)))
	messages := make([]message, 0, len(records))
	for _, rec := range records {
		messages = append(messages, a.show(rec))
	}
	respond(w, http.StatusOK, map[string]any{"messages": messages, "more": more})
}

// postMessage stores a message, and responds once the host has it. A repeated id is the same message. The conversation is
// created with its first message.
func (a *api) postMessage(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID           string          `json:"id"`
		Conversation string          `json:"conversation"`
		Text         string          `json:"text"`
		Files        []chat.MediaRef `json:"files"`
	}
	if !decode(w, r, &in) {
		return
	}
	if !idPattern.MatchString(in.ID) || strings.TrimSpace(in.Text) == "" && len(in.Files) == 0 {
		refuse(w, http.StatusBadRequest, "A message has an id (a UUID) and a text or files.")
		return
	}
	if in.Conversation != "" && !idPattern.MatchString(in.Conversation) || len(in.Files) > maxFiles {
		refuse(w, http.StatusBadRequest, "A conversation is named by a UUID, and a message has at most 10 files.")
		return
	}
	id := chat.MessageID(in.ID)
	rec := record{ID: id, Thread: chat.ThreadID(in.Conversation), Text: in.Text, At: time.Now().UTC()}
	if _, known := a.journal.get(id); !known {
		var err error
		if rec.Files, err = a.resolve(r.Context(), in.Files); errors.Is(err, sdk.ErrNotFound) {
			refuse(w, http.StatusGone, "The host no longer has a file: attach it again.")
			return
		} else if err != nil {
			refuse(w, http.StatusServiceUnavailable, "The host is not connected.")
			return
		}
	}
	_, added, err := a.journal.say(rec)
	switch {
	case errors.Is(err, errTooMany):
		refuse(w, http.StatusServiceUnavailable, "Too many messages are waiting for the host.")
		return
	case errors.Is(err, errManyConversations):
		refuse(w, http.StatusConflict, "There are too many conversations: delete one.")
		return
	case err != nil:
		a.log.Error("message not stored", "error", err)
		refuse(w, http.StatusInternalServerError, "The message could not be stored; see the host's log.")
		return
	}
	switch a.settled(r.Context(), id) {
	case accepted:
		respond(w, http.StatusOK, map[string]any{"id": in.ID, "duplicate": !added})
	case rejected:
		refuse(w, http.StatusUnprocessableEntity, "The host refused this message; its log says why.")
	default:
		refuse(w, http.StatusServiceUnavailable, "The host has not accepted the message yet.")
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

// postEdit edits a message that the agent has not read yet. The host decides.
func (a *api) postEdit(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID      string         `json:"id"`
		Message chat.MessageID `json:"message"`
		Text    string         `json:"text"`
	}
	if !decode(w, r, &in) {
		return
	}
	m, ok := a.journal.get(in.Message)
	if !idPattern.MatchString(in.ID) || strings.TrimSpace(in.Text) == "" || !ok || m.From != user || m.State != accepted {
		refuse(w, http.StatusBadRequest, "An edit has an id (a UUID), a message of the user's that was sent, and a text.")
		return
	}
	if !a.submitNow(w, in.ID, m.Thread, chat.Edited{ID: in.Message, Text: in.Text}, "It is too late to change this message.") {
		return
	}
	err := a.journal.update(in.Message, func(r *record) error {
		r.Text, r.Edited = in.Text, true
		return nil
	})
	if err != nil {
		a.log.Error("edit not stored", "error", err)
		refuse(w, http.StatusInternalServerError, "The edit could not be stored; see the host's log.")
		return
	}
	respond(w, http.StatusOK, map[string]any{"id": in.ID})
}

// postButton presses a button of the agent's message.
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
	m, ok := a.journal.get(in.Message)
	if !ok || !m.hasButton(in.Data) {
		refuse(w, http.StatusNotFound, "This button is gone.")
		return
	}
	press := chat.ButtonPress{MessageID: in.Message, Data: in.Data}
	if a.submitNow(w, in.ID, m.Thread, press, "The host refused this; its log says why.") {
		respond(w, http.StatusOK, map[string]any{"id": in.ID})
	}
}

// postStop stops the conversation's turn.
func (a *api) postStop(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID           string        `json:"id"`
		Conversation chat.ThreadID `json:"conversation"`
	}
	if !decode(w, r, &in) {
		return
	}
	if !idPattern.MatchString(in.ID) || !a.journal.hasConversation(in.Conversation) {
		refuse(w, http.StatusBadRequest, "A stop has an id (a UUID) and a conversation.")
		return
	}
	if a.submitNow(w, in.ID, in.Conversation, chat.StopRequest{}, "The host refused to stop; its log says why.") {
		respond(w, http.StatusOK, map[string]any{"id": in.ID})
	}
}

// postTyping tells the host that the user writes in a conversation, which may begin with the message, or has stopped.
func (a *api) postTyping(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Conversation string `json:"conversation"`
		Stopped      bool   `json:"stopped"`
	}
	if !decode(w, r, &in) {
		return
	}
	if in.Conversation != "" && !idPattern.MatchString(in.Conversation) {
		refuse(w, http.StatusBadRequest, "A conversation is named by a UUID.")
		return
	}
	e := event("", chat.ThreadID(in.Conversation), time.Time{}, nil)
	a.typing(chat.Typing{Chat: e.Chat, Thread: e.Thread, Sender: e.Sender, Stopped: in.Stopped})
	respond(w, http.StatusOK, struct{}{})
}

// submitNow submits an event to the host. It responds to the request itself if the host does not accept the event.
func (a *api) submitNow(w http.ResponseWriter, id string, thread chat.ThreadID, body chat.Body, refusal string) bool {
	verdict, err := a.submit(event(id, thread, time.Now(), body))
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "The host is not connected.")
		return false
	case verdict == chat.Rejected:
		refuse(w, http.StatusUnprocessableEntity, refusal)
		return false
	default:
		return true
	}
}

// putConversation renames a conversation. The path names the first one "main".
func (a *api) putConversation(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title string `json:"title"`
	}
	if !decode(w, r, &in) {
		return
	}
	if strings.TrimSpace(in.Title) == "" {
		refuse(w, http.StatusBadRequest, "A conversation has a title.")
		return
	}
	a.answer(w, a.journal.rename(conversationOf(r), in.Title))
}

// deleteConversation deletes a conversation. The host keeps the agent's session.
func (a *api) deleteConversation(w http.ResponseWriter, r *http.Request) {
	id := conversationOf(r)
	err := a.journal.forget(id)
	if err == nil {
		a.live.forget(id)
	}
	a.answer(w, err)
}

func conversationOf(r *http.Request) chat.ThreadID {
	if id := r.PathValue("id"); id != "main" {
		return chat.ThreadID(id)
	}
	return ""
}

// answer responds to a change of a conversation.
func (a *api) answer(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errNoConversation):
		refuse(w, http.StatusNotFound, "There is no such conversation.")
	case err != nil:
		a.log.Error("conversation not changed", "error", err)
		refuse(w, http.StatusInternalServerError, "This could not be stored; see the host's log.")
	default:
		respond(w, http.StatusOK, struct{}{})
	}
}

// decode reads a JSON body. It responds to the request itself if the body is invalid.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "The body must be application/json.")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "A message has at most 256 KB.")
		return false
	}
	if err != nil || json.Unmarshal(body, into) != nil {
		refuse(w, http.StatusBadRequest, "The body is not valid JSON.")
		return false
	}
	// The server's deadline applies to reading the request, not to waiting for the host.
	return http.NewResponseController(w).SetReadDeadline(time.Time{}) == nil
}

func number(s string, absent int64) (int64, bool) {
	if s == "" {
		return absent, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// respond writes a JSON response. A page that is gone asks again.
func respond(w http.ResponseWriter, status int, answer any) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	respond(w, status, map[string]string{"error": reason})
}
