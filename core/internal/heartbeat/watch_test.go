package heartbeat

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
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Behaviour: heartbeat-target.
func TestTarget(t *testing.T) {
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
			c := &config.Config{
				Plugins: plugins, Settings: config.Settings{Access: config.Access{Owners: test.owners}}, Heartbeat: config.Heartbeat{Target: test.target},
			}
			w, err := NewWatch(c, nil, nil, nil)
			if (err != nil) != (test.user == "") || err == nil && (w.channel != "telegram" || w.user != test.user) {
				t.Errorf("%+v, %v", w, err)
			}
		})
	}
}

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// recorded is an inbox that notes the sessions of its turns.
type recorded struct {
	*inbox.Intake
	taken []string
}

func (r *recorded) Turn(ctx context.Context, id domain.Key, m domain.Message) (inbox.Outcome, error) {
	outcome, err := r.Intake.Turn(ctx, id, m)
	if m.Chat.ID == "dm7" && m.Origin == domain.OriginHeartbeat && m.Text == "look" {
		r.taken = append(r.taken, outcome.Session)
	}
	return outcome, err
}

// A network's direct chat may have an id of its own, and its person several. It is known from what they wrote there, and a heartbeat
// in it is of their session.
//
// Behaviour: session-direct, heartbeat-target.
func TestBeatInADirectChat(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for scope, session := range map[string]string{"per-channel-peer": "discord:7", "per-peer": "peer:discord:7", "main": "main"} {
		s := open(t)
		c := &config.Config{Settings: config.Settings{Session: config.Session{Scope: scope}}}
		messages := &recorded{Intake: inbox.NewIntake(s, nil, nil, conversation.NewResolver(c, plugins.New(nil), s), time.Now, hclog.NewNullLogger())}
		w := &Watch{channel: "discord", user: "+7", prompt: "look", workspace: workspace.New(t.TempDir()), store: s, inbox: messages}
		if why, err := w.Idle(ctx); err != nil || !strings.Contains(why, "has not written") {
			t.Errorf("%s: nobody has written: %q, %v", scope, why, err)
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
		if err := w.Beat(ctx, domain.KeyHeartbeat.Of(2)); err != nil {
			t.Fatal(err)
		}
		if len(messages.taken) != 1 || messages.taken[0] != session {
			t.Errorf("%s: a heartbeat is of %q, want %q", scope, messages.taken, session)
		}
	}
}

// A heartbeat is for a session that has nothing else to do, and only if there is something to watch.
//
// Behaviour: heartbeat-busy, heartbeat-nothing.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t)
	begun := make(chan struct{})
	dispatcher := dispatch.New(s, dispatch.Options{Turns: 1, Commands: 1}, hclog.NewNullLogger())
	w := &Watch{prompt: config.HeartbeatPrompt, workspace: workspace.New(t.TempDir()), store: s, turns: dispatcher}

	expect := func(why string) {
		t.Helper()
		got, err := w.nothingToDo(ctx, "telegram:1")
		if err != nil || why == "" && got != "" || !strings.Contains(got, why) {
			t.Errorf("%q, %v; want %q", got, err, why)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(w.workspace.Dir(), file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("there is no ")
	w.prompt = "Look whether the oven is off."
	expect("")
	w.prompt = config.HeartbeatPrompt
	pipe := filepath.Join(w.workspace.Dir(), file)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if why, err := w.nothingToDo(ctx, "telegram:1"); err == nil { // it must not wait for somebody to write
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
	var work sync.WaitGroup
	work.Go(func() { dispatcher.Run(running, endless{begun}) })
	<-begun
	expect("a turn runs")
	stop()
	work.Wait()
}

// endless has runs go on until they are ended.
type endless struct{ begun chan struct{} }

// Handle implements dispatch.Handler.
func (e endless) Handle(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
	close(e.begun)
	<-ctx.Done()
	return context.Cause(ctx)
}
