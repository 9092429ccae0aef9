package exposition_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/exposition"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

type pool struct{}

func (pool) Stats() claude.Stats { return claude.Stats{Running: 1, Idle: 2, Total: 6, Available: 5} }

func (pool) Installation() claude.Installation { return claude.Installation{Problem: "not logged in"} }

// wrong is a part of the host with a problem.
type wrong struct{}

func (wrong) Problems(context.Context) []health.Report {
	return []health.Report{{Code: health.DeadLetters, Detail: "3"}}
}

// options are a host's with one channel.
func options(t *testing.T) exposition.Options {
	t.Helper()
	c := &config.Config{
		Agent: config.Agent{Label: "main"}, Plugins: []*config.Plugin{{Label: "telegram", Enabled: true}},
		Telemetry: config.Telemetry{Metrics: true},
	}
	s := storetest.Open(t)
	registry := plugins.New(c.Plugins)
	registry.Entry("telegram").Update(func(s *plugins.Status) {
		s.State, s.Kinds, s.Connection, s.Restarts = plugins.Running, []string{"channel"}, chat.Connecting, 3
	})
	return exposition.Options{
		Metrics: exposition.Metrics(c), Version: "v1.2.3", StateDir: t.TempDir(), Places: 4, Store: s, Claude: pool{}, Plugins: registry,
		Approvals: permission.New(permission.Options{Store: s}, hclog.NewNullLogger()), Health: health.New(wrong{}),
	}
}

// scrape returns what a host serves.
func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestStateOfTheHost(t *testing.T) {
	t.Parallel()
	o := options(t)
	// The config has a channel no more to which something was to be sent.
	for _, channel := range []string{"telegram", "anna", "bob"} {
		to := chat.Address{Channel: channel, Chat: "1"}
		if _, err := o.Store.Post(t.Context(), domain.Key{}, domain.OutboxItem{To: to, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	said := scrape(t, exposition.New(o, hclog.NewNullLogger()))
	for _, line := range []string{
		`clawhost_build_info\{commit="[^"]*",goversion="go[^"]+",version="v1.2.3"\} 1`, `clawhost_store_readable 1`, `clawhost_turn_places 4`,
		`clawhost_queue_messages\{lane="turn"\} 0`, `clawhost_queue_oldest_message_age_seconds\{lane="turn"\} 0`,
		`clawhost_outbox_items\{channel="telegram"\} 1`, `clawhost_outbox_items\{channel="other"\} 2`, `clawhost_dead_letters\{channel="telegram"\} 0`,
		`clawhost_claude_processes\{state="running"\} 1`, `clawhost_claude_processes\{state="idle"\} 2`, `clawhost_claude_usable 0`,
		`clawhost_machine_memory_bytes 6`, `clawhost_plugin_state\{plugin="telegram",state="running"\} 1`,
		`clawhost_plugin_state\{plugin="telegram",state="failed"\} 0`, `clawhost_plugin_connected\{plugin="telegram"\} 0`,
		`clawhost_problems\{code="plugin_disconnected",severity="warning"\} 0`, `clawhost_problems\{code="dead_letters",severity="warning"\} 1`, `clawhost_plugin_restarts_total\{plugin="telegram"\} 3`, `clawhost_disk_free_bytes [1-9].*`, `process_cpu_seconds_total .*`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(said) {
			t.Errorf("no line %s in\n%s", line, said)
		}
	}
	if strings.Contains(said, "anna") || strings.Contains(said, "bob") {
		t.Error("a label is not of the config")
	}
}

// A scrape is served even if the store cannot be read, and says so.
func TestStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := options(t)
	broken, err := store.Open(t.Context(), t.TempDir()+"/clawhost.db", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Close(); err != nil {
		t.Fatal(err)
	}
	o.Store = broken
	var log strings.Builder
	h := exposition.New(o, hclog.New(&hclog.LoggerOptions{Output: &log}))
	for range 2 {
		said := scrape(t, h)
		if !strings.Contains(said, "clawhost_store_readable 0\n") || strings.Contains(said, "clawhost_queue_messages") || !strings.Contains(said, "clawhost_claude_usable 0\n") {
			t.Error(said)
		}
	}
	if n := strings.Count(log.String(), "a scrape could not read the store"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
}

// Behaviour: metrics-off.
func TestMetricsAreOff(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Metrics = exposition.Metrics(&config.Config{})
	if o.Metrics != nil || exposition.New(o, hclog.NewNullLogger()) != nil {
		t.Error("metrics are there that the config does not have")
	}
}

// link is a link of the page.
var link = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)

// meaning is a help as the page has it: in a cell, no sentence begins.
func meaning(help string) string {
	if first, _, _ := strings.Cut(help, " "); strings.ToUpper(first) == first && len(first) > 1 {
		return help
	}
	return strings.ToLower(help[:1]) + help[1:]
}

// The page lists each metric, with its labels, its type and its meaning.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(clawhost_\\w+)` \\| (\\w+) \\| ([^|]*) \\| ([^|]+) \\|$").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1]+" "+row[2]+" "+strings.NewReplacer("`", "", " ", "").Replace(row[3])+" "+link.ReplaceAllString(row[4], "$1"))
	}
	o := options(t)
	var there []string
	fields := regexp.MustCompile(`fqName: "(\w+)", help: "([^"]+)\.".*variableLabels: \{([^}]*)\}`)
	for kind, c := range map[string]prometheus.Collector{"histogram": o.Metrics, "gauge": exposition.State(o)} {
		descs := make(chan *prometheus.Desc, 100)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			f, kind := fields.FindStringSubmatch(d.String()), kind
			if strings.HasSuffix(f[1], "_total") {
				kind = "counter"
			}
			there = append(there, f[1]+" "+kind+" "+f[3]+" "+meaning(f[2]))
		}
	}
	slices.Sort(documented)
	slices.Sort(there)
	if diff := cmp.Diff(there, documented); diff != "" || len(there) < 30 {
		t.Errorf("docs/observability.md (-code +page):\n%s", diff)
	}
}
