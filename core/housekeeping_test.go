package core

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: heartbeat-target.
func TestHeartbeatTarget(t *testing.T) {
	t.Parallel()
	plugins := []*config.Plugin{{Label: "telegram", Enabled: true}, {Label: "discord"}}
	for name, test := range map[string]struct {
		target string
		owners []string
		user   chat.UserID
	}{
		"the owner":              {"owner", []string{"telegram:1", "telegram:2"}, "1"},
		"a person":               {"telegram:a:b", nil, "a:b"},
		"no owner":               {"owner", nil, ""},
		"a channel that is off":  {"owner", []string{"discord:1"}, ""},
		"a channel that is none": {"irc:1", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &Host{config: &config.Config{Plugins: plugins, Settings: config.Settings{Access: config.Access{Owners: test.owners}}}}
			channel, user, err := h.heartbeatTarget(test.target)
			if user != test.user || (err != nil) != (user == "") || err == nil && channel != "telegram" {
				t.Errorf("%s:%s, %v", channel, user, err)
			}
		})
	}
}

// A network's direct chat may have an id of its own, and its person several. It is known from what they wrote there, and what the
// host does in it is of their session.
// Behaviour: session-direct, heartbeat-target.
func TestDirectChat(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for scope, session := range map[string]string{"per-channel-peer": "discord:7", "per-peer": "peer:discord:7", "main": "main"} {
		s, err := store.Open(ctx, filepath.Join(t.TempDir(), "clawhost.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		c := &config.Config{Settings: config.Settings{Session: config.Session{Scope: scope}, Access: config.Access{Owners: []string{"discord:+7"}}}}
		h := &Host{config: c, store: s}
		h.inbox = inbox.New(inbox.Options{
			Store: s, Settings: c.For, Now: time.Now, Policy: c.Send.Policy,
		}, hclog.NewNullLogger())
		for _, user := range []chat.UserID{"7", "+7"} {
			if to, known := h.directChat(ctx, "discord", user); known {
				t.Errorf("%s: nobody has written, and %s is at %+v", scope, user, to)
			}
			if to := h.likelyChat(ctx, "discord", user); to != (chat.Address{Channel: "discord", Chat: chat.ID(user)}) {
				t.Errorf("%s: nobody has written, and %s is likely at %+v", scope, user, to)
			}
		}
		for n, who := range []chat.Sender{{ID: "7", Aliases: []chat.UserID{"+7"}}, {ID: "8"}} {
			key := session
			if n == 1 && scope != "main" {
				key += "8" // another's
			}
			if _, err := s.Accept(ctx, domain.Inbound{EventID: chat.EventID(who.ID), Session: key, Lane: domain.TurnLane, Message: domain.Message{
				Channel: "discord", Chat: chat.Chat{ID: "dm" + chat.ID(who.ID), Kind: chat.Direct}, Sender: who,
			}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, user := range []chat.UserID{"7", "+7"} {
			if to, known := h.directChat(ctx, "discord", user); !known || to != (chat.Address{Channel: "discord", Chat: "dm7"}) {
				t.Errorf("%s: %s is at %+v, %t", scope, user, to, known)
			}
		}
		outcome, err := h.inbox.Turn(ctx, "2", domain.Message{
			Channel: "discord", Chat: chat.Chat{ID: "dm7", Kind: chat.Direct}, Sender: chat.Sender{IsBot: true}, Origin: domain.OriginHeartbeat,
		})
		if err != nil || outcome.Session != session {
			t.Errorf("%s: a heartbeat is of %q, %v; want %q", scope, outcome.Session, err, session)
		}
	}
}

// A heartbeat is for a session that has nothing else to do, and only if there is something to watch.
// Behaviour: heartbeat-busy, heartbeat-nothing.
func TestNothingToWatch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "clawhost.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	begun := make(chan struct{})
	h := &Host{config: &config.Config{Agent: config.Agent{Workspace: t.TempDir()}}, store: s}
	h.dispatcher = dispatch.New(s, dispatch.Options{Turns: 1, Commands: 1}, hclog.NewNullLogger())

	expect := func(why string) {
		t.Helper()
		got, err := h.nothingToWatch(ctx, "telegram:1")
		if err != nil || why == "" && got != "" || !strings.Contains(got, why) {
			t.Errorf("%q, %v; want %q", got, err, why)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(h.config.Agent.Workspace, heartbeatFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("there is no ")
	pipe := filepath.Join(h.config.Agent.Workspace, heartbeatFile)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if why, err := h.nothingToWatch(ctx, "telegram:1"); err == nil { // it must not wait for somebody to write
		t.Errorf("a pipe is read: %q", why)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	write("# To watch\n\n<!-- nothing yet -->\n")
	expect("has nothing to do in it")
	write("# To watch\n\n- the backup of the photos\n")
	expect("")

	if _, err := s.Accept(ctx, domain.Inbound{
		EventID: "1", Session: "telegram:1", Lane: domain.TurnLane,
		Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "1", Kind: chat.Direct}},
	}); err != nil {
		t.Fatal(err)
	}
	expect("messages wait")
	running, stop := context.WithCancel(ctx)
	var room sync.WaitGroup
	room.Go(func() { h.dispatcher.Run(running, endless{begun}) })
	<-begun
	expect("a turn runs")
	stop()
	room.Wait()
}

// endless has runs go on until they are ended.
type endless struct{ begun chan struct{} }

// Handle implements dispatch.Handler.
func (e endless) Handle(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
	close(e.begun)
	<-ctx.Done()
	return context.Cause(ctx)
}
