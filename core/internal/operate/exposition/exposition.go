// Package exposition serves what Prometheus reads: what base/metrics has counted, and the state of the host at that moment.
package exposition

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/clawhost/clawhost/core/internal/base/build"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// readTime bounds how long a scrape waits for the store.
	readTime = 5 * time.Second
	// scrapes bounds those at the same time; further ones get 503.
	scrapes = 3
)

// Metrics returns metrics with the labels of the current config; nil: they are off.
func Metrics(current config.Getter) *metrics.Metrics {
	if !current.Get().Telemetry.Metrics {
		return nil
	}
	return metrics.New(config.Derive(current, labels))
}

func labels(c *config.Config) (labels metrics.Labels) {
	for _, p := range c.Plugins {
		labels.Plugins = append(labels.Plugins, p.Label)
	}
	for _, a := range c.AllAgents() {
		labels.Agents = append(labels.Agents, a.Label)
	}
	return labels
}

// Claudes are the claude processes.
type Claudes interface {
	Stats() claude.Stats
	Installation() claude.Installation
}

// Options are what is read.
type Options struct {
	Metrics    *metrics.Metrics
	Version    string
	StateDir   string
	Places     int // for turns that work at the same time
	Store      *store.Store
	Dispatcher *dispatch.Dispatcher
	Claude     Claudes
	Plugins    *plugins.Registry
	Approvals  *permission.Approvals
	Health     *health.Registry
}

// New returns the handler of scrapes; nil without metrics, which is where they are off.
func New(options Options, log hclog.Logger) http.Handler {
	if options.Metrics == nil {
		return nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		options.Metrics, newState(options, log), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: scrapes, DisableCompression: true})
}

// state collects the state of the host.
type state struct {
	options Options
	log     hclog.Logger
	build   build.Info
	descs   []*prometheus.Desc

	mu      sync.Mutex
	failing bool // the last scrape could not read the store

	built, readable, problems                                   *prometheus.Desc
	waiting, running, oldest                                    *prometheus.Desc
	places, questions                                           *prometheus.Desc
	pending, oldestItem, dead, uncertain                        *prometheus.Desc
	processes, claudeWaiting, claudeMemory, claudeLimit, usable *prometheus.Desc
	memory, available                                           *prometheus.Desc
	plugin, connected, restarts                                 *prometheus.Desc
	diskFree, diskSize, database                                *prometheus.Desc
}

func newState(options Options, log hclog.Logger) *state {
	s := &state{options: options, log: log, build: build.Read(options.Version)}
	s.built = s.desc("build_info", "From what the host was built; always 1.", "version", "commit", "goversion")
	s.readable = s.desc("store_readable", "Whether the scrape could read the store; 0: the metrics of what waits are missing.")
	s.problems = s.desc("problems", "Problems of the host that are shown.", "code", "severity")
	s.waiting = s.desc("queue_messages", "Messages that wait in a lane.", "lane")
	s.running = s.desc("queue_runs", "Messages that are being worked on, with those that are answered together with them as one.", "lane")
	s.oldest = s.desc("queue_oldest_message_age_seconds", "How long the oldest waiting message has waited; 0: none waits.", "lane")
	s.places = s.desc("turn_places", "How many turns may work at the same time.")
	s.questions = s.desc("questions_open", "Questions of Claude that people have not answered.")
	s.pending = s.desc("outbox_items", "Items that wait to be delivered, or are being sent.", "channel")
	s.oldestItem = s.desc("outbox_oldest_item_age_seconds", "How old the oldest item is that is not delivered; 0: there is none.", "channel")
	s.dead = s.desc("dead_letters", "Items whose delivery was given up.", "channel")
	s.uncertain = s.desc("uncertain_sends_total", "Items that were sent again because a send's outcome was unknown, since the database was made.")
	s.processes = s.desc("claude_processes", "Processes of Claude Code.", "state")
	s.claudeWaiting = s.desc("claude_waiting_turns", "Turns that wait for a process of Claude Code.")
	s.claudeMemory = s.desc("claude_memory_bytes", "Memory that the processes of Claude Code and their tools use.")
	s.claudeLimit = s.desc("claude_memory_limit_bytes", "The limit of that memory; 0: none.")
	s.usable = s.desc("claude_usable", "Whether Claude Code could be used when it was last asked.")
	s.memory = s.desc("machine_memory_bytes", "Memory of the machine, or of the container.")
	s.available = s.desc("machine_memory_available_bytes", "Memory that programs can still get.")
	s.plugin = s.desc("plugin_state", "1 for the state that a plugin is in, 0 for the others.", "plugin", "state")
	s.connected = s.desc("plugin_connected", "Whether a channel that runs is connected to its network.", "plugin")
	s.restarts = s.desc("plugin_restarts_total", "How often a plugin was started again.", "plugin")
	s.diskFree = s.desc("disk_free_bytes", "Space that the host's user has left on the disk of the state folder.")
	s.diskSize = s.desc("disk_size_bytes", "The size of that disk.")
	s.database = s.desc("database_size_bytes", "The size of the database, with what is not yet moved into its main file.")
	return s
}

func (s *state) desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("clawhost_"+name, help, labels, nil)
	s.descs = append(s.descs, d)
	return d
}

// Describe implements [prometheus.Collector].
func (s *state) Describe(to chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (s *state) Collect(to chan<- prometheus.Metric) {
	g := gauges{to}
	g.set(s.built, 1, s.build.Version, s.build.Commit, s.build.Go)
	g.set(s.places, float64(s.options.Places))
	ctx, cancel := context.WithTimeout(context.Background(), readTime) // a collector gets no context
	defer cancel()
	s.collectStore(ctx, g)
	s.collectProblems(ctx, g)
	s.collectClaude(g)
	s.collectPlugins(g)
	s.collectDisk(g)
}

// gauges sends values.
type gauges struct{ to chan<- prometheus.Metric }

func (g gauges) set(d *prometheus.Desc, value float64, labels ...string) {
	g.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (g gauges) count(d *prometheus.Desc, value float64, labels ...string) {
	g.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// collectStore collects what waits.
func (s *state) collectStore(ctx context.Context, g gauges) {
	backlog, err := s.options.Store.Backlog(ctx)
	var open int
	if err == nil {
		open, err = s.open(ctx)
	}
	s.note(err)
	g.set(s.readable, one(err == nil))
	if err != nil {
		return
	}
	g.set(s.questions, float64(open))
	for _, lane := range []domain.Lane{domain.TurnLane, domain.ControlLane, domain.CommandLane, domain.ShellLane} {
		l := backlog.Lanes[lane]
		g.set(s.waiting, float64(l.Waiting), string(lane))
		g.set(s.running, float64(l.Running), string(lane))
		g.set(s.oldest, age(l.Oldest), string(lane))
	}
	channels := map[string]domain.OutboxBacklog{}
	for _, e := range s.options.Plugins.List() {
		if slices.Contains(e.Kinds, "channel") {
			channels[e.Name] = domain.OutboxBacklog{}
		}
	}
	for channel, o := range backlog.Outbox {
		label := s.options.Metrics.Plugin(channel) // several are other, if the config has them no more
		all := channels[label]
		all.Pending, all.Dead = all.Pending+o.Pending, all.Dead+o.Dead
		if all.Oldest.IsZero() || !o.Oldest.IsZero() && o.Oldest.Before(all.Oldest) {
			all.Oldest = o.Oldest
		}
		channels[label] = all
	}
	for channel, o := range channels {
		g.set(s.pending, float64(o.Pending), channel)
		g.set(s.oldestItem, age(o.Oldest), channel)
		g.set(s.dead, float64(o.Dead), channel)
	}
	g.count(s.uncertain, float64(backlog.Uncertain))
}

func (s *state) open(ctx context.Context) (int, error) {
	list, err := s.options.Approvals.Open(ctx)
	return len(list), err
}

// note logs the first of several failures.
func (s *state) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.failing {
		s.log.Error("a scrape could not read the store", "error", err)
	}
	s.failing = err != nil
}

// collectProblems collects how many problems of each kind there are, also where there are none, so that an alert sees a beginning.
func (s *state) collectProblems(ctx context.Context, g gauges) {
	count := map[health.Code]int{}
	for _, p := range s.options.Health.List(ctx) {
		count[p.Code]++
	}
	for _, kind := range health.Kinds() {
		g.set(s.problems, float64(count[kind.Code]), string(kind.Code), string(kind.Severity))
	}
}

func (s *state) collectClaude(g gauges) {
	pool, installed := s.options.Claude.Stats(), s.options.Claude.Installation()
	g.set(s.processes, float64(pool.Running), "running")
	g.set(s.processes, float64(pool.Idle), "idle")
	g.set(s.processes, float64(pool.Spare), "spare")
	g.set(s.claudeWaiting, float64(pool.Waiting))
	g.set(s.claudeMemory, float64(pool.Memory))
	g.set(s.claudeLimit, float64(pool.Limit))
	g.set(s.usable, one(installed.Problem == ""))
	if pool.Total > 0 {
		g.set(s.memory, float64(pool.Total))
		g.set(s.available, float64(pool.Available))
	}
}

func (s *state) collectPlugins(g gauges) {
	states := []plugins.State{plugins.Starting, plugins.Running, plugins.Waiting, plugins.Failed, plugins.Stopped, plugins.Elsewhere}
	for _, p := range s.options.Plugins.List() {
		for _, state := range states {
			g.set(s.plugin, one(p.State == state), p.Name, string(state))
		}
		if p.Connection != 0 {
			g.set(s.connected, one(p.Connection == chat.Connected), p.Name)
		}
		g.count(s.restarts, float64(p.Restarts), p.Name)
	}
}

func (s *state) collectDisk(g gauges) {
	if free, size, ok := disk(s.options.StateDir); ok {
		g.set(s.diskFree, free)
		g.set(s.diskSize, size)
	}
	g.set(s.database, sizeOf(filepath.Join(s.options.StateDir, store.File)))
}

// age is how long ago something was, in seconds; 0 for the zero time.
func age(since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(time.Since(since), 0).Seconds()
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
