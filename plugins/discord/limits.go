package main

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/network"
)

// limits know until when Discord takes no requests. It counts those that come all the same, and shuts out for hours who sends
// too many of them; so they are refused here.
type limits struct {
	mu    sync.Mutex
	until map[string]time.Time // by route; everywhere is all of them
}

const (
	everywhere = ""
	maxRoutes  = 1000
	// margin is added to a time that Discord has rounded, perhaps down.
	margin = 50 * time.Millisecond
)

func newLimits() *limits { return &limits{until: map[string]time.Time{}} }

// routeOf names what Discord counts together: calls of one kind for one channel, server or webhook.
func routeOf(what, path string) string {
	path, _, _ = strings.Cut(path, "?")
	if parts := strings.SplitN(path, "/", 3); len(parts) > 2 {
		path = parts[0] + "/" + parts[1]
	}
	return what + " " + path
}

// wait is for how long a route takes no requests.
func (l *limits) wait(route string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, time.Until(l.until[route]), time.Until(l.until[everywhere]))
}

func (l *limits) shut(route string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.until) >= maxRoutes {
		for known, until := range l.until {
			if time.Now().After(until) {
				delete(l.until, known)
			}
		}
	}
	l.until[route] = time.Now().Add(d)
}

// learn reads how many requests of a route are left, and for how long.
func (l *limits) learn(route string, header http.Header) {
	if header.Get("X-RateLimit-Remaining") == "0" {
		if reset := network.Seconds(header.Get("X-RateLimit-Reset-After")); reset > 0 {
			l.shut(route, reset+margin)
		}
	}
}

// refused notes the answer 429: what it says of all routes, and how long to wait.
func (l *limits) refused(route string, global bool, d time.Duration) {
	if global {
		route = everywhere
	}
	l.shut(route, d)
}
