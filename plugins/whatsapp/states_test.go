package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// TestEndsThatAPersonMustFix end Run, and say what to do. The host tells its owner then.
// Behaviour: whatsapp-login.
func TestEndsThatAPersonMustFix(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(life) error
		want chat.State
		says string
	}{
		{"unlinked", func(l life) error { return l.server.Unlink() }, chat.LoggedOut, "run `clawhost plugin login test`"},
		{"replaced", func(l life) error { return l.server.Replace() }, chat.BadCredentials, "another program uses this device's keys"},
		{"logged out", func(l life) error { l.server.RefuseLogins(401); l.server.Cut(); return nil }, chat.LoggedOut, "run `clawhost plugin login test`"},
		{"banned", func(l life) error { l.server.RefuseLogins(402); l.server.Cut(); return nil }, chat.BadCredentials, "banned the account until"},
		{"banned for good", func(l life) error { l.server.RefuseLogins(403); l.server.Cut(); return nil }, chat.LoggedOut, "gone"},
		{"outdated", func(l life) error { l.server.RefuseLogins(405); l.server.Cut(); return nil }, chat.BadCredentials, "update clawhost"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := start(t)
			if err := test.end(l); err != nil {
				t.Fatal(err)
			}
			if s := l.run.WaitFor(test.want); !strings.Contains(s.Detail, test.says) {
				t.Errorf("it says %q", s.Detail)
			}
			if err := l.run.Wait(); err == nil {
				t.Error("Run ended well")
			}
		})
	}
}

// TestTroubleThatPasses is survived.
func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	for _, reason := range []int{400, 500, 503, 999} {
		t.Run(fmt.Sprint(reason), func(t *testing.T) {
			t.Parallel()
			p := quick()
			p.login, p.blip = 2*time.Second, 200*time.Millisecond // Some reasons end no connection, and all end the sending.
			l := startAt(t, p)
			l.server.RefuseLogins(reason)
			l.server.Cut()
			l.run.WaitFor(chat.Disconnected)
			if l.Health() == nil {
				t.Error("a channel that is not connected is well")
			}
			if _, err := l.Send(chat.Outgoing{Key: "k", To: l.direct, Text: "x"}); err == nil {
				t.Error("a message was sent without a connection")
			}
			l.server.RefuseLogins(0)
			l.run.WaitFor(chat.Connected)
			l.anna.Say("hello")
			l.NextEvent()
		})
	}
}

// TestPairsAgainAfterALogout takes the state folder on.
func TestPairsAgainAfterALogout(t *testing.T) {
	t.Parallel()
	l := start(t)
	if err := l.server.Unlink(); err != nil {
		t.Fatal(err)
	}
	l.run.WaitFor(chat.LoggedOut)
	l.Shutdown()
	h := newHarness(t, l)
	run := h.Run()
	_, err := h.Login(t.Context(), nil, func(step chat.LoginStep) {
		if err := l.server.Scan(t.Context(), step.QR); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	run.WaitFor(chat.Connected)
}
