package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	maxStreams = 16
	// batch is the number of messages written to a page between flushes.
	batch = 50
	// heartbeat is the interval of keep-alives on an idle stream.
	heartbeat = 15 * time.Second
)

// getEvents streams changes after a revision, while the page is connected: events "message" with the revision as their id,
// and "conversations", "commands" and "live" with the current state. A page that reconnects sends the last id it saw and
// misses nothing. Nothing is buffered for a slow page: a stream only has its position.
func (a *api) getEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "The web chat is open in too many places.")
		return
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}
	rev, ok := number(after, 0)
	if !ok {
		refuse(w, http.StatusBadRequest, "after is a number.")
		return
	}
	s := &stream{w: w, control: http.NewResponseController(w)}
	if s.control.SetReadDeadline(time.Time{}) != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if rev > a.journal.last() {
		// The page knows another journal, which has been deleted.
		rev = 0
		s.event("reset", 0, struct{}{})
	}
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	seen := seen{rev: rev}
	s.comment("open")
	for s.err == nil {
		changed := a.changed.next()
		more := a.send(s, &seen)
		s.flush()
		if more {
			continue
		}
		select {
		case <-changed:
		case <-alive.C:
			s.comment("alive")
		case <-r.Context().Done():
			return
		}
	}
}

// seen is a stream's position.
type seen struct{ rev, conversations, commands, live int64 }

// send writes what a stream has not sent yet, and reports whether there may be more. A message is sent before the end of
// typing, so that it replaces the draft.
func (a *api) send(s *stream, seen *seen) (more bool) {
	if list, version := a.journal.conversations(); version > seen.conversations {
		seen.conversations = version
		s.event("conversations", 0, list)
	}
	if commands, version := a.menu.list(); version > seen.commands {
		seen.commands = version
		s.event("commands", 0, commands)
	}
	views, version := a.live.since(seen.live, time.Now())
	records := a.journal.since(seen.rev, batch)
	for _, r := range records {
		s.event("message", r.Rev, a.show(r))
		seen.rev = r.Rev
	}
	if len(records) > 0 {
		return true // the views may be older than the messages
	}
	seen.live = version
	for _, v := range views {
		s.event("live", 0, v)
	}
	return false
}

// stream writes server-sent events until a write fails.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// event writes an event; an id of zero leaves the page's last id unchanged.
func (s *stream) event(name string, id int64, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		s.err = err
		return
	}
	var rev string
	if id != 0 {
		rev = fmt.Sprintf("id: %d\n", id)
	}
	s.print("%sevent: %s\ndata: %s\n\n", rev, name, encoded)
}

func (s *stream) comment(text string) { s.print(": %s\n\n", text) }

func (s *stream) print(format string, args ...any) {
	if s.err != nil {
		return
	}
	if s.err = s.control.SetWriteDeadline(time.Now().Add(writeWithin)); s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.control.Flush()
	}
}
