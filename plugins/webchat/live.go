package main

import (
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// live is the transient state of the conversations: who is writing, and the draft so far. It is not stored.
type live struct {
	changed *broadcast
	render  func(markdown string) string

	mu      sync.Mutex
	version int64
	of      map[chat.ThreadID]moment
}

// moment is the transient state of one conversation.
type moment struct {
	version int64
	typing  time.Time // show the agent as writing until then
	draft   string    // the answer so far, as Markdown
	html    string    // rendered; empty until requested
	until   time.Time // the draft is shown until then
}

// liveView is a moment as sent to a page. Times are in milliseconds from now.
type liveView struct {
	Conversation chat.ThreadID `json:"conversation"`
	Typing       int64         `json:"typing"`
	Draft        int64         `json:"draft"`
	HTML         string        `json:"html,omitempty"`
}

func newLive(changed *broadcast, render func(string) string) *live {
	return &live{changed: changed, render: render, of: make(map[chat.ThreadID]moment)}
}

// write shows the agent as writing until a time; the zero time hides it.
func (l *live) write(id chat.ThreadID, until time.Time) {
	l.set(id, func(m *moment) { m.typing = until })
}

// draft shows a draft until a time.
func (l *live) draft(id chat.ThreadID, text string, until time.Time) {
	l.set(id, func(m *moment) {
		if m.draft != text {
			m.draft, m.html = text, ""
		}
		m.until = until
	})
}

// end removes the transient state: the message has been sent.
func (l *live) end(id chat.ThreadID) {
	l.set(id, func(m *moment) { *m = moment{version: m.version} })
}

// forget drops the state of a deleted conversation.
func (l *live) forget(id chat.ThreadID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
}

func (l *live) set(id chat.ThreadID, change func(*moment)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.of[id]
	was := m
	change(&m)
	if m == was {
		return
	}
	l.version++
	m.version = l.version
	l.of[id] = m
	l.changed.notify()
}

// since returns what has changed after a version, and the latest version.
func (l *live) since(version int64, now time.Time) (views []liveView, latest int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, m := range l.of {
		if m.version <= version {
			continue
		}
		view := liveView{Conversation: id, Typing: max(0, m.typing.Sub(now).Milliseconds())}
		if view.Draft = max(0, m.until.Sub(now).Milliseconds()); view.Draft > 0 {
			if m.html == "" && m.draft != "" {
				m.html = l.render(m.draft)
				l.of[id] = m
			}
			view.HTML = m.html
		}
		views = append(views, view)
	}
	return views, l.version
}
