package notice_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// part is a part of the host that says what the test sets.
type part struct {
	mu   sync.Mutex
	list []health.Report
}

func (p *part) Problems(context.Context) []health.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}

func (p *part) has(list ...health.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = list
}

// Owners learn once what is wrong, through another channel than the one that it is about, and once when it is over.
// Behaviour: owners-problems.
func TestOwnersHearOnceOfAProblem(t *testing.T) {
	t.Parallel()
	status := func(change func(*plugins.Status)) func(*plugins.Entry, *part) {
		return func(e *plugins.Entry, _ *part) { e.Update(change) }
	}
	reports := func(list ...health.Report) func(*plugins.Entry, *part) {
		return func(_ *plugins.Entry, p *part) { p.has(list...) }
	}
	connected := status(func(s *plugins.Status) { s.State, s.Connection, s.Failure = plugins.Running, chat.Connected, nil })
	away := status(func(s *plugins.Status) {
		s.State, s.Connection, s.Detail = plugins.Running, chat.Disconnected, "no route to host"
	})
	waits := status(func(s *plugins.Status) { s.State, s.Connection, s.Detail = plugins.Waiting, 0, "it ```ended" })
	fails := status(func(s *plugins.Status) {
		s.State, s.Connection, s.Failure = plugins.Failed, 0, &plugins.Failure{Why: "it ```broke", Advice: "Repair it."}
	})
	const runs = "The plugin telegram runs again."
	disconnected := "The plugin telegram is not connected to its network:  ``` no route to host ```  It connects again by itself, as soon as its network lets it."
	type step struct {
		change func(*plugins.Entry, *part)
		lasts  time.Duration
	}
	flaps := []step{}
	for range 15 {
		flaps = append(flaps, step{away, 20 * time.Second}, step{connected, 20 * time.Second})
	}
	for name, test := range map[string]struct {
		steps           []step
		told, elsewhere []string // by discord, and by telegram itself
	}{
		"a plugin that restarts": {steps: []step{{waits, 5 * time.Second}, {connected, time.Hour}}},
		"a plugin that fails": {
			steps: []step{{fails, time.Hour}, {waits, time.Hour}, {fails, time.Hour}, {connected, time.Hour}},
			told:  []string{"The plugin telegram does not run:  ```` it ```broke ````  Repair it.", runs},
		},
		"a plugin that is waited for, and fails": {
			steps: []step{{waits, 2 * time.Minute}, {fails, time.Minute}, {connected, time.Hour}},
			told: []string{
				"The plugin telegram does not run:  ```` it ```ended ````  The host starts it again by itself. `clawhost logs` shows what it said.",
				"The plugin telegram does not run:  ```` it ```broke ````  Repair it.", runs,
			},
		},
		"a network that is away": {
			steps: []step{{away, 2 * time.Minute}, {connected, time.Hour}},
			told:  []string{disconnected, "The plugin telegram is connected to its network again."},
		},
		"a network that comes and goes": {
			steps: append(flaps, step{connected, time.Hour}),
			told:  []string{disconnected, "The plugin telegram is connected to its network again."},
		},
		"claude is missing, then installed": {
			steps: []step{
				{connected, time.Minute}, {reports(health.Report{Code: health.ClaudeUnusable, Detail: "no claude", Advice: "I wait."}), time.Hour}, {reports(), time.Hour},
			},
			told:      []string{"Claude cannot be started:  ``` no claude ```  I wait.", "Claude can be started again."},
			elsewhere: []string{"Claude cannot be started:  ``` no claude ```  I wait.", "Claude can be started again."},
		},
		"what is no news": {
			steps: []step{{connected, time.Minute}, {reports(health.Report{Code: health.DeadLetters, Detail: "3"}), time.Hour}, {reports(), time.Hour}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, r, p := storetest.Open(t), plugintest.Registry("telegram", "discord"), &part{}
				entry := r.Entry("telegram")
				connected(entry, p)
				r.Entry("discord").Update(func(s *plugins.Status) { s.State = plugins.Running })
				c := &config.Config{Settings: config.Settings{Access: config.Access{Owners: []string{"telegram:1", "discord:7"}}}}
				owners := notice.NewOwners(s, conversation.NewResolver(c, r, s), r, hclog.NewNullLogger())
				ctx, cancel := context.WithCancel(t.Context())
				var working sync.WaitGroup
				working.Go(func() { owners.Problems(ctx, health.New(r, p)) })
				for _, step := range test.steps {
					step.change(entry, p)
					time.Sleep(step.lasts)
				}
				cancel()
				working.Wait()
				for channel, want := range map[string][]string{"discord": test.told, "telegram": test.elsewhere} {
					var got []string
					for _, text := range storetest.Texts(t, s, channel) {
						got = append(got, strings.ReplaceAll(text, "\n", " "))
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("by %s (-want +got):\n%s", channel, diff)
					}
				}
			})
		})
	}
}

// A notice that the store does not take is sent later. A host that follows soon does not repeat one.
// Behaviour: owners-problems.
func TestANoticeOfAProblemIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r, p := storetest.Open(t), plugintest.Registry("a"), &part{}
		p.has(health.Report{Code: health.PluginFailed, Subject: "b", Advice: "Look."})
		for range 2 {
			c := &config.Config{Settings: config.Settings{Access: config.Access{Owners: []string{"a:1"}}}}
			owners := notice.NewOwners(s, conversation.NewResolver(c, r, s), r, hclog.NewNullLogger())
			ctx, cancel := context.WithCancel(t.Context())
			var working sync.WaitGroup
			working.Go(func() { owners.Problems(ctx, health.New(p)) })
			time.Sleep(time.Minute)
			cancel()
			working.Wait()
		}
		if diff := cmp.Diff([]string{"The plugin b does not run. Look."}, storetest.Texts(t, s, "a")); diff != "" {
			t.Error(diff)
		}
	})
}
