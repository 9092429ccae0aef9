package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	maxStreams = 16
	// batch is how many messages are written to a page before it must have taken them.
	batch = 50
	// heartbeat is how often a quiet stream says that it lives.
	heartbeat = 15 * time.Second
)

// getEvents streams what changes above a revision, for as long as the page stays: events "message" with the revision as
// their id, and "typing". A page that comes back names the last id it saw and misses nothing. Nothing is kept for a
// page that reads slowly: a stream knows only the revision that it has written.
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
	_, _, last := a.journal.before(0, 0)
	if rev > last {
		// The page knows another journal, one that was deleted since.
		rev = 0
		s.event("reset", 0, struct{}{})
	}
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	var typed int64
	s.comment("open")
	for s.err == nil {
		changed := a.changed.next()
		records := a.journal.since(rev, batch)
		for _, rec := range records {
			s.event("message", rec.Rev, a.show(rec))
			rev = rec.Rev
		}
		if version, left := a.typing.now(time.Now()); version != typed {
			typed = version
			s.event("typing", 0, map[string]int64{"ms": left.Milliseconds()})
		}
		s.flush()
		if len(records) == batch {
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

// stream writes server-sent events until a write fails.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// event writes an event; an id of zero leaves the page's last one as it is.
func (s *stream) event(name string, id int64, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		s.err = err
		return
	}
	if id != 0 {
		s.print("id: %d\n", id)
	}
	s.print("event: %s\ndata: %s\n\n", name, encoded)
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

// typing is whether the agent is writing, as far as the pages need to know.
type typing struct {
	changed *broadcast

	mu      sync.Mutex
	version int64
	until   time.Time
}

// set says that the agent writes until a moment; the zero time says that it does not.
func (t *typing) set(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until.Equal(t.until) {
		return
	}
	t.version++
	t.until = until
	t.changed.notify()
}

// now returns how long the agent is still shown as writing, and a number that changes with each signal.
func (t *typing) now(now time.Time) (version int64, left time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version, max(0, t.until.Sub(now))
}
