package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"

	"github.com/clawhost/clawhost/sdk/network"
)

var (
	errAsked  = &closedError{text: "asked", asked: true}
	errLost   = &closedError{text: "lost", lost: true}
	errClosed = &closedError{code: 4000}
	errCut    = errors.New("cut")
)

// TestBackoff: a stable connection resets the waits, and Discord's requests are followed at once, but not in a loop.
// Behaviour: discord-sessions.
func TestBackoff(t *testing.T) {
	t.Parallel()
	type ending struct {
		live     time.Duration
		err      error
		from, to time.Duration // that it is waited for
	}
	const s, sound = time.Second, 12 * time.Second
	for name, endings := range map[string][]ending{
		"asked again and again": {{sound, errAsked, 0, 0}, {sound, errAsked, 0, 0}, {sound, errAsked, 0, 0}, {sound, errAsked, 0, 0}},
		"asked in a loop": {
			{1, errAsked, 0, 0},
			{1, errAsked, s, 3 * s},
			{1, errAsked, 2 * s, 6 * s},
			{1, errAsked, 4 * s, 12 * s},
			{sound, errAsked, 0, 0},
			{1, errAsked, s, 3 * s},
		},
		"asked before it was live": {{0, errAsked, s / 2, 3 * s / 2}, {0, errAsked, s, 3 * s}},
		"away": {
			{0, errCut, s / 2, 3 * s / 2},
			{0, errCut, s, 3 * s},
			{0, errCut, 2 * s, 6 * s},
			{0, errCut, 4 * s, 12 * s},
			{0, errCut, 8 * s, 24 * s},
			{0, errCut, 16 * s, 48 * s},
			{0, errCut, 30 * s, 90 * s},
			{0, errCut, 30 * s, 90 * s},
			{sound, errCut, s / 2, 3 * s / 2},
		},
		"closed soon":         {{s, errClosed, s / 2, 3 * s / 2}, {s, errClosed, s, 3 * s}, {s, errClosed, 2 * s, 6 * s}, {sound, errClosed, s / 2, 3 * s / 2}},
		"session given up":    {{sound, errLost, s, 5 * s}, {sound, errLost, s, 5 * s}},
		"told how long it is": {{0, &callError{CallError: network.CallError{RetryAfter: time.Hour}}, time.Hour, time.Hour}},
	} {
		waits := newReconnect(usualPace())
		for i, e := range endings {
			if got := waits.after(e.live, e.err); got < e.from || got > e.to {
				t.Errorf("%s, %d: %v, want %v to %v", name, i, got, e.from, e.to)
			}
		}
	}
}

// TestReconnectsThatAreAskedFor are done at once, and are no outage.
// Behaviour: discord-sessions.
func TestReconnectsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	f := fixture{pace: testPace()}
	f.pace.first, f.pace.sound = time.Hour, 1
	f = f.start(t, nil)
	for n := range 5 {
		f.server.Reconnect()
		f.server.Await(t, "the session is resumed", func() bool { return f.server.Resumed() == n+1 })
	}
	f.server.Say("70", "7", "still there?")
	f.message(t, "still there?")
	f.server.RefuseWith(4004)
	f.server.Close(4004)
	if state := f.run.NextState(); !strings.Contains(state.Detail, "token") {
		t.Errorf("before its end the channel said %+v", state)
	}
}

// TestSessionsAreBegunSlowly also by the life behind one that ended right after it had begun one.
// Behaviour: discord-sessions.
func TestSessionsAreBegunSlowly(t *testing.T) {
	t.Parallel()
	f := fixture{pace: testPace()}
	f.pace.identify = 1500 * time.Millisecond
	f = f.start(t, func(s *discordtest.Server) { s.LimitIdentify(300 * time.Millisecond) })
	f.server.Forget()
	f.server.Cut()
	f.server.Await(t, "the second session has begun", func() bool { return f.server.Identified() == 2 })
	f.host.Shutdown()
	f.server.Forget()
	f = f.again(t)
	if n, early := f.server.Identified(), f.server.Early(); n != 3 || early != 0 {
		t.Errorf("%d sessions were begun, %d of them too early; want 3 and none", n, early)
	}
}

// TestASessionIsKeptAtOnce: a life that ends right after its beginning leaves a session that can be resumed.
// Behaviour: discord-sessions.
func TestASessionIsKeptAtOnce(t *testing.T) {
	t.Parallel()
	f := fixture{pace: testPace()}
	f.pace.save = time.Hour
	f = f.start(t, nil)
	await(t, "the session is kept", func() bool {
		_, _, err := f.states.of(f.server.URL()).Get(t.Context(), sessionKey)
		return err == nil
	})
}

// TestResumeElsewhere: a server for tests may have its gateway at another port of this machine.
func TestResumeElsewhere(t *testing.T) {
	t.Parallel()
	resumed := make(chan string, 10)
	f := start(t, func(s *discordtest.Server) {
		to, err := url.Parse(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		forward := httputil.NewSingleHostReverseProxy(to)
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			resumed <- r.URL.Path
			forward.ServeHTTP(w, r)
		}))
		t.Cleanup(elsewhere.Close)
		s.ResumeAt(strings.Replace(elsewhere.URL, "http", "ws", 1) + "/gateway")
	})
	f.server.Cut()
	f.server.Await(t, "the session is resumed", func() bool { return f.server.Resumed() == 1 })
	if path := <-resumed; path != "/gateway" {
		t.Errorf("asked for %s", path)
	}
}

// TestGatewayMustBeTrusted: only Discord, or this machine where it stands for Discord.
func TestGatewayMustBeTrusted(t *testing.T) {
	t.Parallel()
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) }))
	defer served.Close()
	test, err := newREST("t", "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer test.close()
	discord, err := newREST("t", "")
	if err != nil {
		t.Fatal(err)
	}
	defer discord.close()
	const refused = "this is not a host of Discord"
	for _, c := range []struct {
		of      *rest
		address string
		refused bool
	}{
		{test, served.URL + "/file", false},
		{test, "http://192.0.2.1/file", true},
		{test, "http://localhost/file", true},
		{test, "https://127.0.0.1/file", true},
		{discord, served.URL + "/file", true},
		{discord, "http://cdn.discordapp.com/file", true},
		{discord, "https://cdn.discordapp.com.example/file", true},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.of.transport.RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		if c.refused != (err != nil && err.Error() == refused) {
			t.Errorf("%s: %v", c.address, err)
		}
	}
	for address, of := range map[string]*rest{
		"ws://127.0.0.1:2/gateway": test, "wss://gateway.discord.gg": discord, "wss://gateway-us-east1-b.discord.gg": discord,
	} {
		if _, err := gatewayAddress(of.transport, address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, of := range map[string]*rest{
		"ws://192.0.2.1/gateway": test, "ws://127.0.0.1:2/gateway": discord, "ws://gateway.discord.gg": discord, "wss://discord.gg.example": discord,
	} {
		if _, err := gatewayAddress(of.transport, address); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
}
