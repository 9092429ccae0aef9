package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// TestConnectionsEnd in each way that Discord knows, with a message written meanwhile.
func TestConnectionsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		end     func(*discordtest.Server)
		resumes bool
		outage  bool // the channel says that it is not connected
	}{
		{"cut", (*discordtest.Server).Cut, true, true},
		{"asked to reconnect", (*discordtest.Server).Reconnect, true, false},
		{"closed: unknown error", func(s *discordtest.Server) { s.Close(4000) }, true, true},
		{"closed: going away", func(s *discordtest.Server) { s.Close(1001) }, true, true},
		{"closed: session timed out", func(s *discordtest.Server) { s.Close(4009) }, false, true},
		{"session invalidated", (*discordtest.Server).Invalidate, false, true},
		{"session forgotten", func(s *discordtest.Server) {
			s.Forget()
			s.Cut()
		}, false, true},
		{"no JSON", func(s *discordtest.Server) { s.Garble(`{"op":0,`) }, true, true},
		{"no event", func(s *discordtest.Server) { s.Garble(`[]`) }, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			s := f.server
			s.Say("70", "7", "before")
			f.message(t, "before")
			c.end(s)
			s.Say("70", "7", "meanwhile")
			s.Say("901", "7", "elsewhere")
			got := []string{}
			for range 2 {
				_, m := next[chat.Message](t, f)
				got = append(got, m.Text)
			}
			slices.Sort(got)
			if !slices.Equal(got, []string{"elsewhere", "meanwhile"}) {
				t.Errorf("came %q", got)
			}
			s.Await(t, "the bot is back", func() bool {
				return c.resumes && s.Resumed() == 1 || !c.resumes && s.Identified() == 2
			})
			if c.outage {
				f.run.WaitFor(chat.Connected)
			}
			if n := s.Identified(); c.resumes && n != 1 {
				t.Errorf("the bot identified %d times; it could have resumed", n)
			}
		})
	}
}

// TestSilentGateway: a connection on which nothing is answered is given up, though it does not break.
func TestSilentGateway(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	// A channel that was heard of is caught up in, should a slow machine lose the session too.
	f.server.Say("70", "7", "hello")
	f.message(t, "hello")
	f.server.Heartbeat(20*time.Millisecond, false)
	f.server.Cut()
	f.server.Await(t, "silent connections are given up", func() bool { return f.server.Resumed()+f.server.Identified() > 3 })
	f.server.Heartbeat(time.Second, true)
	f.server.Say("70", "7", "still there?")
	f.message(t, "still there?")
}

// TestFatalCloses end Run in a state that says what to do.
func TestFatalCloses(t *testing.T) {
	t.Parallel()
	for code, says := range map[int]string{4004: "token", 4010: "shard", 4011: "too many servers", 4012: "update clawhost", 4013: "update clawhost", 4014: "Message Content Intent"} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			s, states := discordtest.New(t), &ledgers{}
			s.RefuseWith(code)
			h := newHarness(t, states)
			h.Configure(map[string]any{"token": s.Token(), "test_endpoint": s.URL()})
			run := h.Run()
			err := run.Wait()
			if state := run.WaitFor(chat.BadCredentials); !strings.Contains(state.Detail, says) {
				t.Errorf("ended with %v, %+v", err, state)
			}
		})
	}
}

func TestBadToken(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	h := newHarness(t, &ledgers{})
	token := strings.Replace(s.Token(), "loopback", "anothers", 1)
	h.Configure(map[string]any{"token": token, "test_endpoint": s.URL()})
	run := h.Run()
	if err := run.Wait(); err != nil && strings.Contains(err.Error(), token) {
		t.Error("the token is in the error")
	}
	run.WaitFor(chat.BadCredentials)
	if strings.Contains(h.Logs(), token) {
		t.Error("the token is in the log")
	}
}

// TestRestart: messages written while the plugin was down reach its next process, from known and new channels.
// Behaviour: discord-catch-up.
func TestRestart(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) { s.Channel("900", "905", "silent so far") })
	s := f.server
	before := s.Say("70", "7", "before")
	f.message(t, "before")
	await(t, "the plugin has noted it", func() bool { return f.states.of(s.URL()).passed("70") == parseID(before) })
	f.host.Shutdown()
	var want []string
	s.Forget()           // Else the session would bring it.
	for n := range 230 { // more than two pages
		want = append(want, fmt.Sprintf("private %d", n))
		s.Say("70", "7", want[n])
	}
	s.Say("905", "7", "no more")
	f = f.again(t)
	for _, text := range append(want, "no more") {
		f.message(t, text)
	}
}

// TestSubmitFails: what the host does not take comes again, in order.
func TestSubmitFails(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	var fails atomic.Int32
	fails.Store(3)
	f.host.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		if fails.Add(-1) >= 0 {
			return 0, errBroken // not one that Submit tries again
		}
		return f.host.Host.Accept(ctx, e)
	})
	for n := range 5 {
		f.server.Say("70", "7", fmt.Sprintf("message %d", n))
	}
	for n := range 5 {
		f.message(t, fmt.Sprintf("message %d", n))
	}
}

// TestRejectedIsNotAskedForAgain: the host's no is an answer too.
func TestRejectedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.host.Host.OnSubmit(func(context.Context, chat.Event) (chat.Verdict, error) { return chat.Rejected, nil })
	id := f.server.Say("70", "7", "who are you?")
	state := f.states.of(f.server.URL())
	// That the host has the event is not enough: its answer may still be on its way, and a shutdown would cut it off.
	await(t, "the plugin has the host's no", func() bool { return state.passed("70") == parseID(id) })
	f.host.Shutdown()
	f.server.Forget() // so that the next process requests what it missed
	f = f.again(t)
	f.server.Say("70", "7", "hello?")
	for range 2 {
		// The refused one comes once more, for it was a moment ago, and is refused by the host that has heard of it.
		if _, m := next[chat.Message](t, f); m.Text == "hello?" {
			return
		}
	}
	t.Error("the next message did not come")
}

var errBroken = status.Error(codes.Internal, "the host is broken")

// await waits for something that gives no sign when it changes.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !done() {
		if !network.Pause(ctx, 2*time.Millisecond) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
