package plugins

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

// State is the state of a plugin.
type State string

// The states.
const (
	Starting State = "starting"
	Running  State = "running"
	Waiting  State = "waiting" // for its next start
	Failed   State = "failed"  // disabled after failures
	Stopped  State = "stopped"
	// Elsewhere is the state of a channel that another host runs.
	Elsewhere State = "elsewhere"
)

// Status is the operator's view of a plugin.
type Status struct {
	Name       string
	State      State
	Detail     string // why it is waiting or failed, or its channel's report
	Doing      string // what it has last said that it is doing
	Version    string
	Kinds      []string
	PID        int
	Since      time.Time // of the state
	Restarts   int
	Connection chat.State // of a channel
	URL        string     // the address of the channel's page; it may contain a secret
	Failure    *Failure   // why it does not run and is not simply started again; nil: it runs, or will soon
}

// Failure is why a plugin has failed. It remains while the plugin is tried again, until it runs.
type Failure struct {
	Why    string
	Advice string // what to do
	Lacks  bool   // the host has no disk space, memory or the like for it
}

func (s Status) channel() bool { return slices.Contains(s.Kinds, "channel") }

// Entry is an enabled plugin across all its processes. Only the supervisor changes it.
type Entry struct {
	config  atomic.Pointer[config.Plugin]
	changes *changes // of all plugins

	mu      sync.Mutex
	status  Status
	running *Plugin
	life    context.Context // ends when running changes
	end     context.CancelFunc
	limits  map[chat.Kind]chat.Limits // of the newest process
	changed chan struct{}             // closed when running changes
}

func newEntry(p *config.Plugin, c *changes) *Entry {
	e := &Entry{changes: c, changed: make(chan struct{}), status: Status{Name: p.Label, State: Starting, Since: time.Now()}}
	e.life, e.end = context.WithCancel(context.Background())
	e.config.Store(p)
	return e
}

// Config returns the plugin's block, as it is now.
func (e *Entry) Config() *config.Plugin { return e.config.Load() }

// remove wakes those who wait for the plugin, which the config does not have any more.
func (e *Entry) remove() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.changed)
	e.changed = make(chan struct{})
}

// Running returns the plugin, or nil if it does not run.
func (e *Entry) Running() *Plugin {
	p, _ := e.current()
	return p
}

func (e *Entry) current() (p *Plugin, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running, e.changed
}

// own returns the plugin if it runs on this host, and a context that ends when that changes.
func (e *Entry) own() (p *Plugin, life context.Context, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil || e.running.Host != "" {
		return nil, nil, e.changed
	}
	return e.running, e.life, e.changed
}

// Status returns the plugin's state.
func (e *Entry) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

// starts reports whether a plugin that does not run will start soon by itself.
func (e *Entry) starts() bool {
	state := e.Status().State
	return state != Failed && state != Stopped
}

func (e *Entry) limitsIn(kind chat.Kind) (limits chat.Limits, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	limits, known = e.limits[kind]
	return limits, known
}

// Update changes the status and returns the previous one.
func (e *Entry) Update(change func(*Status)) (before Status) {
	differs := false
	defer func() {
		if differs {
			e.changes.tell() // after unlocking: woken goroutines ask at once
		}
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	before = e.status
	change(&e.status)
	if e.status.State != before.State || e.status.Since.IsZero() {
		e.status.Since = time.Now()
	}
	differs = e.status.State != before.State || e.status.Connection != before.Connection || e.status.Failure != before.Failure
	return before
}

// Publish makes the plugin available; nil: it no longer is.
func (e *Entry) Publish(p *Plugin) {
	defer e.changes.tell() // after unlocking: woken goroutines ask at once
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end()
	e.running = p
	e.life, e.end = context.WithCancel(context.Background())
	if p != nil {
		e.limits = p.Reported
	}
	close(e.changed)
	e.changed = make(chan struct{})
}
