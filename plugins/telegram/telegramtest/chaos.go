package telegramtest

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// chaos is faults by chance.
type chaos struct {
	random *rand.Rand
	share  float64
}

// Chaos injects faults into a share of the requests (from 0 to 1): they are slow, cut off before or after they take
// effect, or answered with 429, 500 or something that is not JSON. The same share of polls returns confirmed updates
// again, shuffled updates, or an unreadable one. The faults depend on the seed and the order of requests. [Server.Heal]
// ends them. Most 429 answers ask for no wait, to keep tests fast; one in four asks for a second.
func (s *Server) Chaos(seed uint64, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chaos = &chaos{random: rand.New(rand.NewPCG(seed, seed)), share: share}
}

// happens reports whether a fault occurs now. A nil one has no faults.
func (c *chaos) happens() bool { return c != nil && c.random.Float64() < c.share }

// fault is what goes wrong with a request. The lock is held.
func (c *chaos) fault() Fault {
	if !c.happens() {
		return Fault{}
	}
	faults := []Fault{
		Slow(time.Duration(1+c.random.IntN(5)) * time.Millisecond),
		CutBefore(),
		CutAfter(),
		TooManyRequests(time.Duration(c.random.IntN(4)/3) * time.Second),
		Refuse(http.StatusInternalServerError, "Internal Server Error"),
		NotJSON(http.StatusBadGateway),
		NotJSON(http.StatusOK),
	}
	return faults[c.random.IntN(len(faults))]
}

// disturb changes what a poll brings. The lock is held.
func (c *chaos) disturb(updates, confirmed []update) []update {
	if c.happens() {
		for len(confirmed) > 0 && confirmed[0].isFileOfAlbum() {
			confirmed = confirmed[1:] // An album comes again whole or not at all.
		}
		updates = append(append([]update{}, confirmed...), updates...)
	}
	if c.happens() {
		updates = append([]update{}, updates...)
		c.random.Shuffle(len(updates), func(i, j int) { updates[i], updates[j] = updates[j], updates[i] })
	}
	return updates
}

func (u update) isFileOfAlbum() bool {
	message, _ := u.body["message"].(map[string]any)
	return message["media_group_id"] != nil
}

// unreadable is the body of an update that no bot can read.
func unreadable() map[string]any {
	return map[string]any{"message_id": "a word", "chat": []any{"of", "garbage"}}
}
