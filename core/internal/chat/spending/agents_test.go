package spending_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/spending"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// What the turns of each agent cost is counted by day, once, whether a budget counts it too or not. With one agent nothing is counted.
// Behaviour: usage.
func TestUsageOfAgents(t *testing.T) {
	t.Parallel()
	dollar := config.Budget{Per: domain.PerAgent, Daily: domain.Amount{CostMicros: 1_000_000}}
	for name, test := range map[string]struct {
		agents  []*config.Agent
		budgets []config.Budget
		want    map[string][4]int64 // today's turns and cost, and those of three days
	}{
		"several":              {[]*config.Agent{{Label: "server"}}, nil, map[string][4]int64{"main": {1, 10, 2, 20}, "server": {1, 10, 1, 10}}},
		"several, with budget": {[]*config.Agent{{Label: "server"}}, []config.Budget{dollar}, map[string][4]int64{"main": {1, 10, 2, 20}, "server": {1, 10, 1, 10}}},
		"one":                  {nil, nil, map[string][4]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := storetest.Open(t)
				c := &config.Config{Agent: config.Agent{Label: session.MainAgent, Timezone: time.UTC}, Agents: test.agents, Budgets: test.budgets}
				conversations := conversation.NewResolver(c, plugins.New(nil), s)
				counted := spending.New(c, s, conversations)
				spend := func(key string) {
					run := &conversation.Run{Run: &domain.Run{Session: domain.Session{Key: key}}}
					figures := domain.TurnFigures{Usage: domain.Usage{Turns: 1, OutputTokens: 5, CostMicros: 10}, Accounts: counted.Accounts(run)}
					if err := s.RecordUsage(t.Context(), key, "", figures); err != nil {
						t.Fatal(err)
					}
				}
				spend("tg:1") // too long ago
				time.Sleep(24 * time.Hour)
				spend("tg:1")
				time.Sleep(48 * time.Hour)
				spend("tg:1")
				spend("agent:server:tg:1")
				list, err := counted.Agents(t.Context(), 3)
				if err != nil {
					t.Fatal(err)
				}
				got := map[string][4]int64{}
				for _, a := range list {
					if a.Today.Tokens != 5*a.Today.Turns || a.Recent.Tokens != 5*a.Recent.Turns {
						t.Errorf("the tokens of %+v", a)
					}
					got[a.Label] = [4]int64{a.Today.Turns, a.Today.CostMicros, a.Recent.Turns, a.Recent.CostMicros}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("spent (-want +got):\n%s", diff)
				}
			})
		})
	}
}
