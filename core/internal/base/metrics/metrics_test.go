package metrics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/sdk/chat"
)

// use counts something of everything, with a label of the config's place and a model.
func use(m *metrics.Metrics, label, model, trace string) {
	m.Message(label, chat.Accepted, nil)
	m.Message(label, 0, errors.New("no space"))
	m.Begun(label, time.Second, trace)
	m.FirstWord(label, time.Second, trace)
	m.Turn(metrics.Turn{Agent: label, Outcome: domain.RunDone, Took: time.Second, Since: 2 * time.Second, Trace: trace})
	m.Failed(label, "died")
	m.Used(model, domain.Usage{Turns: 1, InputTokens: 3, CacheTokens: 4, OutputTokens: 5, CostMicros: 2_500_000})
	m.Sent(label, time.Millisecond, trace)
	m.Delivery(label, metrics.Delivered, time.Second, trace)
	m.Delivery(label, metrics.Dead, time.Hour, trace)
	m.Hook(label, time.Millisecond, true)
	m.Tool(label, time.Millisecond, false)
	m.Commit(time.Millisecond)
}

// text is what Prometheus reads.
func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func TestCounts(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Labels{Plugins: []string{"telegram"}, Agents: []string{"main"}})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	use(m, "telegram", "claude-opus-4-5[1m]", "")
	m.Turn(metrics.Turn{Agent: "main", Outcome: domain.RunFailed, Took: -time.Second}) // the clock was set back
	m.Tool("", time.Second, false)
	want := `
# HELP clawhost_cost_dollars_total What turns have cost, as Claude Code reports it.
# TYPE clawhost_cost_dollars_total counter
clawhost_cost_dollars_total{model="claude-opus-4-5[1m]"} 2.5
# HELP clawhost_deliveries_total Tries to deliver an item, by result.
# TYPE clawhost_deliveries_total counter
clawhost_deliveries_total{channel="telegram",result="dead"} 1
clawhost_deliveries_total{channel="telegram",result="delivered"} 1
clawhost_deliveries_total{channel="telegram",result="retried"} 0
# HELP clawhost_messages_total Events that plugins have submitted, by the verdict of the host.
# TYPE clawhost_messages_total counter
clawhost_messages_total{channel="telegram",verdict="accepted"} 1
clawhost_messages_total{channel="telegram",verdict="error"} 1
# HELP clawhost_tokens_total Tokens that turns have used.
# TYPE clawhost_tokens_total counter
clawhost_tokens_total{kind="cache",model="claude-opus-4-5[1m]"} 4
clawhost_tokens_total{kind="input",model="claude-opus-4-5[1m]"} 3
clawhost_tokens_total{kind="output",model="claude-opus-4-5[1m]"} 5
# HELP clawhost_turns_total Turns that have ended, by how.
# TYPE clawhost_turns_total counter
clawhost_turns_total{agent="main",outcome="cancelled"} 0
clawhost_turns_total{agent="main",outcome="done"} 0
clawhost_turns_total{agent="main",outcome="failed"} 1
clawhost_turns_total{agent="other",outcome="done"} 1
`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "clawhost_cost_dollars_total", "clawhost_deliveries_total",
		"clawhost_messages_total", "clawhost_tokens_total", "clawhost_turns_total")
	if err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "clawhost_tool_duration_seconds"); n != 2 {
		t.Errorf("tools of %d plugins, want those of one and of the host", n)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// What is in no closed set counts as another one, however many there are: no text of a chat, a plugin or the API becomes a label.
// Behaviour: metrics-labels.
func TestLabelsAreOfClosedSets(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Labels{Plugins: []string{"telegram"}, Agents: []string{"main"}})
	for i := range 1000 {
		use(m, fmt.Sprintf("telegram:anna-%d", i), fmt.Sprintf("anna's model\n%d", i), "")
		use(m, fmt.Sprint(i), strings.Repeat("x", 65)+fmt.Sprint(i), "")
		use(m, fmt.Sprint(i), fmt.Sprintf("model-%d", i), "")
	}
	said := text(t, m)
	if strings.Contains(said, "anna") || strings.Contains(said, "xxx") {
		t.Errorf("a label is a text of others:\n%s", said)
	}
	if n := testutil.CollectAndCount(m, "clawhost_cost_dollars_total"); n != 33 {
		t.Errorf("%d models are told apart, want 32 and the others", n)
	}
	if n := testutil.CollectAndCount(m, "clawhost_messages_total"); n != 2 {
		t.Errorf("%d channels and verdicts, want 2", n)
	}
}

// A trace is an exemplar of what it is an example of.
func TestExemplars(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Labels{Plugins: []string{"p"}, Agents: []string{"p"}})
	use(m, "p", "opus", "0af7651916cd43dd8448eb211c80319c")
	if n := strings.Count(text(t, m), "0af7651916cd43dd8448eb211c80319c"); n != 6 {
		t.Errorf("%d exemplars, want one of each histogram of a message's way", n)
	}
}

// Metrics that are off count nothing, and cost nothing.
// Behaviour: metrics-off.
func TestOff(t *testing.T) {
	var off *metrics.Metrics
	if allocated := testing.AllocsPerRun(10, func() { off.Commit(time.Second); off.Turn(metrics.Turn{}) }); allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
	use(off, "telegram", "opus", "")
}

// current has labels that a reload replaces.
type current struct{ labels metrics.Labels }

func (c *current) Get() metrics.Labels { return c.labels }

// Behaviour: metrics-labels.
func TestLabelsFollowAReload(t *testing.T) {
	t.Parallel()
	config := &current{metrics.Labels{Plugins: []string{"telegram"}, Agents: []string{"main"}}}
	m := metrics.New(config)
	config.labels = metrics.Labels{Plugins: []string{"discord"}, Agents: []string{"work"}}
	const results = `
		# HELP clawhost_deliveries_total Tries to deliver an item, by result.
		# TYPE clawhost_deliveries_total counter
		clawhost_deliveries_total{channel="discord",result="dead"} %d
		clawhost_deliveries_total{channel="discord",result="delivered"} %[1]d
		clawhost_deliveries_total{channel="discord",result="retried"} 0
		`
	for counted := range 2 {
		if err := testutil.CollectAndCompare(m, strings.NewReader(fmt.Sprintf(results, counted)), "clawhost_deliveries_total"); err != nil {
			t.Errorf("after %d messages: %v", counted, err)
		}
		use(m, "discord", "", "")
	}
}
