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
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

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

// A network's direct chat may have an id of its own. It is known from what its person wrote there, and what the host does in it
// is of that person's session.
func TestDirectChat(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for scope, want := range map[string]struct {
		session string
		known   bool
	}{"per-channel-peer": {"discord:7", true}, "per-peer": {"peer:discord:7", true}, "main": {"main", false}} {
		s, err := store.Open(ctx, filepath.Join(t.TempDir(), "clawhost.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		c := &config.Config{Settings: config.Settings{Session: config.Session{Scope: scope}}}
		h := &Host{config: c, store: s}
		h.inbox = inbox.New(inbox.Options{
			Store: s, Settings: c.For, Now: time.Now, Policy: c.Send.Policy, Turns: turnsOf{h},
		}, hclog.NewNullLogger())
		if to, known := h.directChat(ctx, "discord", "7"); known {
			t.Errorf("%s: nobody has written, and it is %+v", scope, to)
		}
		if _, err := s.Accept(ctx, store.Inbound{EventID: "1", Session: want.session, Lane: store.TurnLane, Message: store.Message{
			Channel: "discord", Chat: chat.Chat{ID: "dm", Kind: chat.Direct}, Sender: chat.Sender{ID: "7"},
		}}); err != nil {
			t.Fatal(err)
		}
		to, known := h.directChat(ctx, "discord", "7")
		if known != want.known || known && to != (chat.Address{Channel: "discord", Chat: "dm"}) {
			t.Errorf("%s: %+v, %t", scope, to, known)
		}
		outcome, err := h.inbox.Turn(ctx, "2", store.Message{
			Channel: "discord", Chat: chat.Chat{ID: "dm", Kind: chat.Direct}, Sender: chat.Sender{ID: "7", IsBot: true}, Origin: store.OriginHeartbeat,
		})
		if err != nil || outcome.Session != want.session {
			t.Errorf("%s: a heartbeat is of %q, %v; want %q", scope, outcome.Session, err, want.session)
		}
	}
}

// A heartbeat is for a session that has nothing else to do, and only if there is something to watch.
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
	h.dispatcher = dispatch.New(s, func(ctx context.Context, run *store.Run, _ <-chan struct{}) error {
		close(begun)
		<-ctx.Done()
		return context.Cause(ctx)
	}, dispatch.Options{Turns: 1, Commands: 1}, hclog.NewNullLogger())

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

	if _, err := s.Accept(ctx, store.Inbound{
		EventID: "1", Session: "telegram:1", Lane: store.TurnLane,
		Message: store.Message{Channel: "telegram", Chat: chat.Chat{ID: "1", Kind: chat.Direct}},
	}); err != nil {
		t.Fatal(err)
	}
	expect("messages wait")
	running, stop := context.WithCancel(ctx)
	var room sync.WaitGroup
	room.Go(func() { h.dispatcher.Run(running) })
	<-begun
	expect("a turn runs")
	stop()
	room.Wait()
}
