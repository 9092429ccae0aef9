package telegramtest

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// limit is how much a bot may send into one chat.
type limit struct {
	most  int // zero: any number
	per   time.Duration
	chats map[int64]*sending
}

// sending is what was sent into a chat.
type sending struct {
	began time.Time // of the stretch that counts
	sent  int
	until time.Time // nothing is taken before
}

// LimitSends has the server refuse with 429 what the bot sends, edits or drafts in a chat beyond so many in a stretch of
// time, until that stretch is over. As with the real one the time to wait is in whole seconds, counts down, and grows by
// what is sent all the same. Zero takes the limit away.
func (s *Server) LimitSends(most int, per time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit{most: most, per: per, chats: map[int64]*sending{}}
}

// take counts something that is sent; false: it is refused.
func (l *limit) take(chat int64, now time.Time) (response, bool) {
	if l.most <= 0 {
		return response{}, true
	}
	c := l.chats[chat]
	if c == nil {
		c = &sending{began: now}
		l.chats[chat] = c
	}
	switch {
	case now.Before(c.until):
		c.until = c.until.Add(time.Second)
		return tooMany(c.until.Sub(now)), false
	case now.Sub(c.began) >= l.per:
		c.began, c.sent = now, 0
	}
	if c.sent++; c.sent > l.most {
		c.until = c.began.Add(l.per)
		return tooMany(c.until.Sub(now)), false
	}
	return response{}, true
}

// tooMany is the answer 429.
func tooMany(retryAfter time.Duration) response {
	seconds := int(math.Ceil(retryAfter.Seconds()))
	r := failed(http.StatusTooManyRequests, fmt.Sprintf("Too Many Requests: retry after %d", seconds))
	r.Parameters = map[string]any{"retry_after": seconds}
	return r
}
