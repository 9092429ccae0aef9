package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// updateQueue is the updates that the bot has not confirmed.
type updateQueue struct {
	waiting   []update
	lastID    int
	confirmed int           // the highest id that the bot has confirmed
	latest    []update      // the latest few that it has confirmed
	allowed   []string      // nil: Telegram's default
	poll      chan struct{} // closed to end the poll that waits; nil when none does
}

// update is one object of getUpdates; its id is not part of it.
type update struct {
	id   int
	body map[string]any
}

func newUpdateQueue() updateQueue {
	// Telegram's ids begin anywhere.
	return updateQueue{lastID: 700_000_000, confirmed: 700_000_000}
}

// unrequested are the updates that a bot gets only if it names them.
var unrequested = []string{"chat_member", "message_reaction", "message_reaction_count"}

func (q *updateQueue) wants(kind string) bool {
	if q.allowed == nil {
		return !slices.Contains(unrequested, kind)
	}
	return slices.Contains(q.allowed, kind)
}

// maxLatest is how many confirmed updates may come again.
const maxLatest = 3

// confirmBelow forgets the updates with a smaller id.
func (q *updateQueue) confirmBelow(offset int) {
	for len(q.waiting) > 0 && q.waiting[0].id < offset {
		q.confirmed = q.waiting[0].id
		q.latest = append(q.latest[max(0, len(q.latest)-maxLatest+1):], q.waiting[0])
		q.waiting = q.waiting[1:]
	}
}

// Push gives the bot an update of any kind, such as "channel_post", and returns its id; zero if the bot does not take
// that kind.
func (s *Server) Push(kind string, object map[string]any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(kind, object)
}

func (s *Server) push(kind string, object map[string]any) int {
	if !s.updates.wants(kind) {
		return 0
	}
	s.updates.lastID++
	id := s.updates.lastID
	s.updates.waiting = append(s.updates.waiting, update{id: id, body: map[string]any{"update_id": id, kind: object}})
	s.notify()
	return id
}

// Pending is how many updates wait to be confirmed.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates.waiting)
}

// Confirmed is the highest update id that the bot has confirmed.
func (s *Server) Confirmed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates.confirmed
}

// AwaitConfirmed waits until the bot has confirmed all updates.
func (s *Server) AwaitConfirmed(ctx context.Context) error {
	waiting := 0
	err := s.await(ctx, func() bool {
		waiting = len(s.updates.waiting)
		return waiting == 0
	})
	if err != nil {
		return fmt.Errorf("%d updates are not confirmed: %w", waiting, err)
	}
	return nil
}

// AwaitPoll waits until a poll of the bot waits for updates.
func (s *Server) AwaitPoll(ctx context.Context) error {
	if err := s.await(ctx, func() bool { return s.updates.poll != nil }); err != nil {
		return fmt.Errorf("the bot does not poll: %w", err)
	}
	return nil
}

// getUpdates confirms what is below the offset and waits for what is not.
func (s *Server) getUpdates(ctx context.Context, params map[string]string) response {
	limit := clamp(number(params, "limit", 100), 1, 100)
	timeout := time.Duration(clamp(number(params, "timeout", 0), 0, 50)) * time.Second
	s.mu.Lock()
	if s.webhook != "" {
		s.mu.Unlock()
		return failed(http.StatusConflict,
			"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if s.updates.poll != nil {
		close(s.updates.poll)
	}
	ended := make(chan struct{})
	s.updates.poll = ended
	if list, ok := params["allowed_updates"]; ok {
		var kinds []string
		if json.Unmarshal([]byte(list), &kinds) == nil {
			s.updates.allowed = kinds
			if len(kinds) == 0 {
				s.updates.allowed = nil
			}
		}
	}
	s.confirm(number(params, "offset", 0))
	if len(s.updates.waiting) > 0 && s.chaos.happens() {
		s.push("message", unreadable())
	}
	s.notify()
	s.mu.Unlock()
	defer s.endPoll(ended)

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		s.mu.Lock()
		waiting, changed := s.updates.waiting, s.changed
		s.mu.Unlock()
		select {
		case <-ended:
			return failed(http.StatusConflict,
				"Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
		default:
		}
		if len(waiting) > 0 {
			s.mu.Lock()
			waiting = s.chaos.disturb(waiting[:min(limit, len(waiting))], s.updates.latest)
			s.mu.Unlock()
			bodies := make([]map[string]any, 0, limit)
			for _, u := range waiting {
				bodies = append(bodies, u.body)
			}
			return succeeded(bodies)
		}
		select {
		case <-changed:
		case <-ended:
		case <-ctx.Done():
			return succeeded([]any{})
		}
	}
}

// confirm applies an offset; a negative one keeps that many of the newest updates. The lock is held.
func (s *Server) confirm(offset int) {
	if offset < 0 {
		offset = s.updates.lastID + 1 + offset
	}
	s.updates.confirmBelow(offset)
}

func (s *Server) endPoll(ended chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.updates.poll == ended {
		s.updates.poll = nil
		s.notify()
	}
}

func number(params map[string]string, name string, otherwise int) int {
	n, err := strconv.Atoi(params[name])
	if err != nil {
		return otherwise
	}
	return n
}

func clamp(n, least, most int) int { return min(max(n, least), most) }
