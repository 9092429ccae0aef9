package core

import (
	"sync"

	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// shows are the turns that are shown as they go on, by where. A network's draft ends with whatever is sent behind it, be it no
// part of the answer, such as a question; so it is drawn again then. It is safe for concurrent use.
type shows struct {
	mu sync.Mutex
	at map[*stream.Stream]chat.Address
}

func (s *shows) begin(show *stream.Stream, at chat.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[*stream.Stream]chat.Address{}
	}
	s.at[show] = at
}

func (s *shows) end(show *stream.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, show)
}

// redraw has the drafts of a chat shown again.
func (s *shows) redraw(to chat.Address) { s.each(to, (*stream.Stream).Redraw) }

// leave has what a chat's turn shows stand behind what it has sent there otherwise.
func (s *shows) leave(to chat.Address) { s.each(to, (*stream.Stream).Leave) }

// asking has what a chat's turn shows stand behind what it asks, if that was sent now, and show no tool at work until it is answered.
func (s *shows) asking(to chat.Address, sent bool) (answered func()) {
	if sent {
		s.leave(to)
	}
	s.each(to, (*stream.Stream).Pause)
	return func() { s.each(to, (*stream.Stream).Resume) }
}

func (s *shows) each(to chat.Address, do func(*stream.Stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for show, at := range s.at {
		if at == to {
			do(show)
		}
	}
}
