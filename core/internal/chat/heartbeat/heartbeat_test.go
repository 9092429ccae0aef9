package heartbeat_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/heartbeat"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// rig is the host around a heartbeat of an hour. Turns that run are done at once.
type rig struct {
	store   *store.Store
	turns   *dispatch.Dispatcher
	config  *config.Config
	log     bytes.Buffer
	handled []*domain.Run
	begun   time.Time
	hours   []int // at which it beat
	retired []string
}

func newRig(t *testing.T, target string) *rig {
	t.Helper()
	r := &rig{store: storetest.Open(t), begun: time.Now(), config: &config.Config{
		Plugins: []*config.Plugin{{Label: "telegram", Enabled: true}, {Label: "discord"}},
		Agent: config.Agent{
			Workspace: t.TempDir(), Timezone: time.UTC,
			Heartbeat: config.Heartbeat{Every: time.Hour, Target: target, Prompt: config.HeartbeatPrompt},
		},
		Settings: config.Settings{Session: config.Session{Scope: "per-channel-peer"}},
	}}
	r.turns = dispatch.New(r.store, dispatch.Options{Turns: 1, Commands: 1}, hclog.NewNullLogger())
	return r
}

func (r *rig) heartbeat() (*heartbeat.Heartbeat, error) {
	log := hclog.New(&hclog.LoggerOptions{Output: &r.log, Level: hclog.Debug})
	conversations := conversation.NewResolver(&config.Config{Agent: r.config.Agent, Settings: r.config.Settings}, plugins.New(nil), r.store)
	intake := inbox.NewIntake(r.store, r, conversations, time.Now, log)
	return heartbeat.New(r.config, &r.config.Agent, r.store, intake, log)
}

// run runs the heartbeat for some time, and turns with it if there is a handler.
func (r *rig) run(t *testing.T, handler dispatch.Handler, during time.Duration) {
	t.Helper()
	h, err := r.heartbeat()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if handler != nil {
			r.turns.Run(ctx, handler)
		}
	}()
	h.Run(ctx)
	<-ended
}

// Handle implements [dispatch.Handler].
func (r *rig) Handle(ctx context.Context, run *domain.Run, _ <-chan struct{}) error {
	if run.Head.Message.Origin == domain.OriginHeartbeat {
		r.handled, r.hours = append(r.handled, run), append(r.hours, int(time.Since(r.begun)/time.Hour))
	}
	if err := r.store.Consumed(ctx, run.ID); err != nil {
		return err
	}
	return r.store.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone})
}

// Retire implements [inbox.Claude].
func (r *rig) Retire(claudeSession string) { r.retired = append(r.retired, claudeSession) }

// Withdraw implements [inbox.Claude].
func (*rig) Withdraw(context.Context, string, string) bool { return false }

// endless has runs go on until they are ended.
type endless struct{}

// Handle implements [dispatch.Handler].
func (endless) Handle(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// lay puts a list into the workspace, a pipe whose other end is never opened, or nothing.
func (r *rig) lay(t *testing.T, list string) {
	t.Helper()
	path := filepath.Join(r.config.Agent.Workspace, "HEARTBEAT.md")
	err := os.RemoveAll(path)
	switch {
	case err != nil || list == "":
	case list == pipe:
		err = syscall.Mkfifo(path, 0o600)
	default:
		err = os.WriteFile(path, []byte(list), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// hi is what a person writes in a direct chat.
func hi(session string, in chat.ID) domain.Inbound {
	return domain.Inbound{
		EventID: chat.EventID(in), Session: session, Lane: domain.TurnLane, Message: domain.Message{
			Channel: "telegram", Chat: chat.Chat{ID: in, Kind: chat.Direct}, Sender: chat.Sender{ID: chat.UserID(in)}, Text: "hi",
		},
	}
}

const (
	pipe   = "a pipe"
	empty  = "# To watch\n\n<!-- nothing yet -->\n"
	backup = "# To watch\n\n- the backup of the photos\n"
)

// Behaviour: heartbeat, heartbeat-nothing.
func TestBeats(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to config.Clock
		list     func(hour int) string
		want     []int
	}{
		"within its hours": {from: 8 * 60, to: 11 * 60, want: []int{8, 9, 10}},
		"over midnight":    {from: 22*60 + 30, to: 2 * 60, want: []int{1, 23}},
		"always":           {want: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
		"nothing to watch": {list: func(hour int) string { return map[bool]string{true: backup, false: empty}[hour == 5] }, want: []int{5}},
		"an error is no end": {
			from: 5 * 60, to: 8 * 60, want: []int{5, 7},
			list: func(hour int) string { return map[bool]string{true: pipe, false: backup}[hour == 6] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the bubble's clock begins at midnight UTC
				r := newRig(t, "telegram:1")
				r.config.Agent.Heartbeat.From, r.config.Agent.Heartbeat.To = test.from, test.to
				r.lay(t, backup)
				storetest.Accept(t, r.store, hi("telegram:1", "1"))
				if test.list != nil {
					go func() {
						time.Sleep(30 * time.Minute)
						for hour := 1; hour < 24; hour++ {
							r.lay(t, test.list(hour))
							time.Sleep(time.Hour)
						}
					}()
				}
				r.run(t, r, 24*time.Hour-time.Minute)
				if diff := cmp.Diff(test.want, r.hours); diff != "" {
					t.Error(diff)
				}
				if failed := strings.Count(r.log.String(), "a heartbeat failed"); failed > 0 != (name == "an error is no end") {
					t.Errorf("%d heartbeats failed: %s", failed, r.log.String())
				}
			})
		})
	}
}

// Behaviour: heartbeat-target.
func TestTarget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		target string
		owners []string
		user   chat.ID
	}{
		"the owner":              {"owner", []string{"telegram:1", "telegram:2"}, "1"},
		"a person":               {"telegram:a:b", nil, "a:b"},
		"no owner":               {"owner", nil, ""},
		"a channel that is off":  {"owner", []string{"discord:1"}, ""},
		"a channel that is none": {"irc:1", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, test.target)
				r.config.Settings.Access.Owners = test.owners
				if test.user == "" {
					if h, err := r.heartbeat(); err == nil {
						t.Errorf("there is %+v", h)
					}
					return
				}
				r.lay(t, backup)
				storetest.Accept(t, r.store, hi("telegram:"+string(test.user), test.user))
				r.run(t, r, 90*time.Minute)
				if len(r.handled) != 1 || r.handled[0].Head.Message.Chat.ID != test.user {
					t.Errorf("its turns are %+v; log: %s", r.handled, r.log.String())
				}
			})
		})
	}
}

// A network's direct chat may have an id of its own, and its person several. It is known from what they wrote there, and a heartbeat
// in it is of their session.
//
// Behaviour: session-direct, heartbeat-target.
func TestBeatInADirectChat(t *testing.T) {
	t.Parallel()
	for scope, session := range map[string]string{"per-channel-peer": "telegram:7", "per-peer": "peer:telegram:7", "main": "main"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, "telegram:+7")
				r.config.Session.Scope, r.config.Agent.Heartbeat.Prompt = scope, "look"
				r.run(t, r, 90*time.Minute)
				if !strings.Contains(r.log.String(), "has not written") {
					t.Errorf("no one has written, and the log is %s", r.log.String())
				}
				for n, who := range []chat.Sender{{ID: "7", Aliases: []chat.UserID{"+7"}}, {ID: "8"}} {
					key := session
					if n == 1 && scope != "main" {
						key += "8" // another's
					}
					said := hi(key, "dm"+chat.ID(who.ID))
					said.Message.Sender = who
					storetest.Accept(t, r.store, said)
				}
				r.run(t, r, 90*time.Minute)
				if len(r.handled) != 1 || r.handled[0].Session.Key != session ||
					r.handled[0].Head.Message.Chat.ID != "dm7" || r.handled[0].Head.Message.Text != "look" {
					t.Errorf("its turns are %+v; log: %s", r.handled, r.log.String())
				}
			})
		})
	}
}

// A heartbeat is for a session that has nothing else to do, and only if there is something to watch.
//
// Behaviour: heartbeat-busy, heartbeat-nothing.
func TestSkippedHeartbeats(t *testing.T) {
	t.Parallel()
	for why, test := range map[string]struct {
		list, prompt string
		waits        bool
		handler      dispatch.Handler
	}{
		"there is no ":            {},
		"has nothing to do in it": {list: empty},
		"a heartbeat failed":      {list: pipe},
		"messages wait":           {list: backup, waits: true},
		"a turn runs":             {list: backup, waits: true, handler: endless{}},
		"":                        {prompt: "Look whether the oven is off."},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, "telegram:1")
				r.lay(t, test.list)
				if test.prompt != "" {
					r.config.Agent.Heartbeat.Prompt = test.prompt
				}
				storetest.Accept(t, r.store, hi("telegram:1", "1"))
				if !test.waits {
					r.run(t, r, time.Minute)
				}
				r.run(t, test.handler, 90*time.Minute)
				_, beat, err := r.store.Lane(t.Context(), "telegram:1", domain.TurnLane)
				if err != nil {
					t.Fatal(err)
				}
				if beat != map[bool]int{true: 1}[why == "" || test.waits] || !strings.Contains(r.log.String(), why) {
					t.Errorf("%d messages wait; log: %s", beat, r.log.String())
				}
			})
		})
	}
}

// A heartbeat in a conversation of its own waits for its own turns only, and speaks in the same chat. The conversation expires as others
// do.
//
// Behaviour: heartbeat-session, heartbeat-model, heartbeat-busy.
func TestBeatInItsOwnConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "telegram:1")
		r.lay(t, backup)
		r.config.Agent.Heartbeat.Session, r.config.Agent.Heartbeat.Model = config.HeartbeatOwn, "haiku"
		r.config.Settings.Session.DailyReset, r.config.Settings.Session.IdleReset = config.Off, time.Hour
		storetest.Accept(t, r.store, hi("telegram:1", "1")) // which waits
		r.run(t, nil, 150*time.Minute)
		if _, waiting, err := r.store.Lane(t.Context(), "heartbeat:telegram:1", domain.TurnLane); err != nil || waiting != 1 {
			t.Errorf("%d wait, %v; log: %s", waiting, err, r.log.String())
		}
		r.run(t, r, 150*time.Minute)
		var claude []string
		for _, run := range r.handled {
			m := run.Head.Message
			if run.Session.Key != "heartbeat:telegram:1" || m.Overrides.Model != "haiku" || m.Chat.ID != "1" || m.Sender.ID != "1" {
				t.Errorf("its turn is %+v", run)
			}
			claude = append(claude, run.Session.ClaudeSession)
		}
		if len(claude) != 3 || claude[0] == claude[1] || claude[1] == claude[2] {
			t.Errorf("its conversations are %q", claude)
		}
		if diff := cmp.Diff(claude[:2], r.retired); diff != "" {
			t.Error(diff)
		}
	})
}
