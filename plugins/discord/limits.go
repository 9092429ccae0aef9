package main

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/network"
)

// limits records until when Discord accepts no requests. Discord counts requests that ignore this, and blocks clients that
// send too many for hours; so they are refused here.
type limits struct {
	mu    sync.Mutex
	until map[string]time.Time // by route; everywhere stands for all
}

const (
	everywhere = ""
	maxRoutes  = 1000
	// margin is added to a time that Discord has rounded, perhaps down.
	margin = 50 * time.Millisecond
)

func newLimits() *limits { return &limits{until: map[string]time.Time{}} }

// routeOf returns the unit of Discord's rate limits: calls of one kind for one channel, server or webhook.
func routeOf(what, path string) string {
	path, _, _ = strings.Cut(path, "?")
	if parts := strings.SplitN(path, "/", 3); len(parts) > 2 {
		path = parts[0] + "/" + parts[1]
	}
	return what + " " + path
}

// wait returns how long a route accepts no requests.
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

// refused records a response 429: whether it applies to all routes, and how long to wait.
func (l *limits) refused(route string, global bool, d time.Duration) {
	if global {
		route = everywhere
	}
	l.shut(route, d)
}
