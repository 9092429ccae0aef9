package claude_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// owners are those who run the host of a rig, and its store, which has what they are sent.
func (r *rig) owners() (*notice.Owners, *store.Store) {
	r.Helper()
	s := storetest.Open(r)
	registry := plugintest.Registry("telegram")
	conversations := conversation.NewResolver(&config.Config{Settings: config.Settings{Access: config.Access{Owners: []string{"telegram:owner"}}}}, registry, s)
	return notice.NewOwners(s, conversations, registry, hclog.NewNullLogger()), s
}

// Where something else than the host writes into a session, its claude is killed with its tools, nothing of what it answers
// is shown, the owners are notified, and the conversation goes on in another process.
// Behaviour: session-isolated.
func TestPeerIsCutOff(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]map[string]any{
		"in a turn":       {"peer": "CANARY", "answer": "mine"},
		"between turns":   {"peer_later": "CANARY", "answer": "mine"},
		"while it asks":   {"peer": "CANARY", "tool": "true", "ask": true},
		"with a tool":     {"peer": "CANARY", "tool": "sleep 1000"},
		"before a stream": {"peer": "CANARY", "token_delay_ms": 20, "answer": "one two three"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			owners, tells := r.owners()
			r.config.Owners = owners
			pool := r.pool()
			turn := r.turn(directive(script))
			turn.Key = "telegram:1"
			var mu sync.Mutex
			var shown strings.Builder
			turn.Watcher = r.showing(func(p agent.Progress) {
				mu.Lock()
				defer mu.Unlock()
				shown.WriteString(p.Text)
			})
			result, err := pool.Run(t.Context(), turn)
			if name == "between turns" {
				if err != nil || result.Text != "mine" {
					t.Errorf("the turn before brings %q, %v", result.Text, err)
				}
			} else {
				r.wantClass(err, agent.Intruded)
			}
			var notices []string
			poll(t, "the owners are told", func() bool {
				notices = append(notices, storetest.Texts(t, tells, "telegram")...)
				return len(notices) > 0
			})
			if !strings.Contains(notices[0], "pid 17") || !strings.Contains(notices[0], "telegram:1") {
				t.Errorf("the owners got %q", notices)
			}
			mu.Lock()
			if strings.Contains(result.Text+shown.String(), "CANARY") {
				t.Errorf("it was shown: %q, %q", shown.String(), result.Text)
			}
			mu.Unlock()
			if got := r.ask(pool, r.turn("and now?")).Text; got != "echo: [Bob] and now?" {
				t.Errorf("the next turn brings %q", got)
			}
			if n := r.processes.spawned(); n != 2 {
				t.Errorf("%d processes were started, want another one", n)
			}
			if notices = append(notices, storetest.Texts(t, tells, "telegram")...); len(notices) > 1 {
				t.Errorf("the owners got %q", notices)
			}
		})
	}
}
