package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// TestLimitsAreKept: what Discord would refuse is not sent, and the error says how long to wait.
// Behaviour: networks-faults.
func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.Direct("7", "70")
	s.Direct("8", "80")
	s.Limit(3, 200*time.Millisecond)
	c := newChannel(t, s)
	held := 0
	for n := range 10 {
		for {
			_, err := c.Send(t.Context(), chat.Outgoing{Key: fmt.Sprint(n), To: chat.Address{Chat: "70"}, Text: fmt.Sprint(n)})
			if err == nil {
				break
			}
			f, ok := errors.AsType[*chat.Failure](err)
			if !ok || f.Reason != chat.RateLimited || f.RetryAfter <= 0 || f.MaybeDelivered {
				t.Fatalf("message %d: %v", n, err)
			}
			held++
			if _, err := c.Send(t.Context(), chat.Outgoing{Key: fmt.Sprint(n), To: chat.Address{Chat: "80"}, Text: "another chat"}); n == 3 && err != nil {
				t.Errorf("another chat waits too: %v", err)
			}
			network.Pause(t.Context(), f.RetryAfter)
		}
	}
	if len(s.Replies("70")) != 10 || s.Refused() != 0 || held == 0 {
		t.Errorf("%d messages came, Discord refused %d requests, the plugin held %d back", len(s.Replies("70")), s.Refused(), held)
	}
}

// TestGlobalLimit stops all routes, one of a route only that.
func TestGlobalLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault discordtest.Fault
		all   bool
	}{
		{"of a route", discordtest.TooManyRequests(time.Minute), false},
		{"of all", discordtest.TooManyOfAll(time.Minute), true},
	} {
		s := discordtest.New(t)
		s.Direct("7", "70")
		s.Direct("8", "80")
		c := newChannel(t, s)
		s.Fail(http.MethodPost, "/messages", 1, test.fault)
		if _, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "70"}, Text: "x"}); err == nil {
			t.Fatal("the first message is sent")
		}
		_, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "80"}, Text: "x"})
		f, _ := errors.AsType[*chat.Failure](err)
		if test.all != (f != nil && f.Reason == chat.RateLimited && f.RetryAfter > 50*time.Second) {
			t.Errorf("%s: another route gives %v", test.name, err)
		}
	}
}

func TestLimitsPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		for n := range 3 * maxRoutes {
			l.shut(routeOf("POST message", fmt.Sprintf("channels/%d/messages", n)), time.Second)
			if n%maxRoutes == 0 {
				time.Sleep(2 * time.Second)
			}
		}
		if len(l.until) > 2*maxRoutes {
			t.Errorf("%d routes are remembered", len(l.until))
		}
		route := routeOf("POST message", "channels/5/messages")
		l.shut(route, time.Minute)
		if l.wait(route) != time.Minute || l.wait(routeOf("PATCH message", "channels/5/messages/6")) != 0 {
			t.Errorf("the route waits for %v", l.wait(route))
		}
		time.Sleep(time.Minute)
		if l.wait(route) != 0 {
			t.Errorf("after a minute the route waits for %v", l.wait(route))
		}
		if routeOf("GET messages", "channels/5/messages?after=1") != routeOf("GET messages", "channels/5/messages?after=2") {
			t.Error("two pages are two routes")
		}
	})
}
