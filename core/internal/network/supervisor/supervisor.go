// Package supervisor keeps plugins running: each is a separate process, restarted with backoff when it crashes, disabled
// when it crashes repeatedly, and drained before it is ended. A failure of one does not affect the others.
package supervisor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/relay"
	"github.com/clawhost/clawhost/core/internal/network/remote"
)

// Processes stores child processes, so that the host's next process can end them.
type Processes interface {
	RecordProcess(ctx context.Context, p domain.Process) error
	DeleteProcess(ctx context.Context, pid int, startTime uint64) error
}

// Host is the host as seen by plugins.
type Host interface {
	// Register registers the host's services on an instance's server.
	Register(instance string, server *grpc.Server)
	// Accept returns an error if the host refuses an instance because of its description; the instance then fails.
	Accept(instance string, d remote.Description) error
	// Opened receives the address of a channel's web page. The url may contain a secret.
	Opened(name, url string)
}

// Options are a supervisor's settings.
type Options struct {
	Plugins     *plugins.Registry
	HostVersion string
	StateDir    string // contains the instances' own folders
	Workspace   string // the agent's, which plugins get
	Demo        bool   // plugins are told that a stand-in answers
	SocketDir   string // contains the sockets; has a short path
	Processes   Processes
	Children    *process.Children // starts the plugins; nil: without adopting processes
	Fleet       *fleet.Fleet      // says which channels this host has; nil: it is alone
	Calls       relay.Store       // lead to the channels of other hosts
	Grace       time.Duration     // for a plugin to drain
	TraceShare  float64           // of messages, whose traces are recorded; plugins are told
	// Backoff is the wait before the first restart of a crashed plugin; it doubles up to two minutes. Zero: a second.
	Backoff time.Duration
	// Retry is the wait before a failed plugin is restarted by itself. Zero: five minutes.
	Retry time.Duration
}

// Supervisor runs plugins.
type Supervisor struct {
	options Options
	log     hclog.Logger
	pids    *pids

	mu        sync.Mutex
	instances map[string]*instance // by the plugin's name; those that the config has no more are in it until they have ended
}

// New returns a supervisor. Run starts it.
func New(options Options, log hclog.Logger) *Supervisor {
	if options.Backoff <= 0 {
		options.Backoff = firstBackoff
	}
	if options.Retry <= 0 {
		options.Retry = retryEvery
	}
	s := &Supervisor{options: options, log: log, pids: &pids{}, instances: map[string]*instance{}}
	s.add()
	return s
}

// add makes the instances of plugins that have none, and returns those that do not run yet.
func (s *Supervisor) add() (idle []*instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.options.Plugins.Entries() {
		name := e.Config().Label
		if s.instances[name] == nil {
			s.instances[name] = &instance{
				name: name, entry: e, options: &s.options, log: s.log.Named(name),
				restart: make(chan struct{}, 1), settled: make(chan struct{}), sockets: newSockets(s.pids),
			}
		}
		if i := s.instances[name]; i.end == nil {
			idle = append(idle, i)
		}
	}
	return idle
}

// Run runs all plugins of the registry concurrently until ctx ends, then drains and ends them. It starts a plugin that is added while
// it runs, and drains and ends one that is removed.
func (s *Supervisor) Run(ctx context.Context, host Host) {
	var running sync.WaitGroup
	defer running.Wait()
	ended := make(chan struct{}, 1)
	for ctx.Err() == nil {
		changed := s.options.Plugins.Changed()
		for _, i := range s.add() {
			working, end := context.WithCancel(ctx)
			i.end = end
			running.Go(func() {
				defer end()
				i.run(working, host)
				if ctx.Err() == nil { // its plugin was removed; one of the same name may be there again
					s.remove(i)
					select {
					case ended <- struct{}{}:
					default: // one is enough
					}
				}
			})
		}
		s.endRemoved()
		select {
		case <-changed:
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// endRemoved ends the plugins that the config does not have any more.
func (s *Supervisor) endRemoved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, i := range s.instances {
		if s.options.Plugins.Entry(name) != i.entry {
			i.end()
		}
	}
}

func (s *Supervisor) remove(i *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.instances, i.name)
}

// Settled returns once every plugin is running, or its first start has failed.
func (s *Supervisor) Settled(ctx context.Context) error {
	for _, e := range s.options.Plugins.Entries() {
		i := s.instance(e.Config().Label)
		if i == nil {
			continue // removed meanwhile
		}
		select {
		case <-i.settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *Supervisor) instance(name string) *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instances[name]
}

// Restart restarts a plugin, including a failed one. It runs with the block that the config has now.
func (s *Supervisor) Restart(name string) error {
	i := s.instance(name)
	if i == nil || s.options.Plugins.Entry(name) == nil {
		return fmt.Errorf("no plugin %q is enabled", name)
	}
	select {
	case i.restart <- struct{}{}:
	default: // already requested
	}
	return nil
}

// Checked is the result of checking a plugin without configuring it.
type Checked struct {
	remote.Description
	Config  []byte              // the config with its defaults, as JSON; nil: it does not match the schema
	Misfit  error               // why the config does not match the schema; nil: it does
	Found   []remote.Diagnostic // the plugin's own diagnostics of a matching config
	Refused []remote.Diagnostic // what its network says against the account
	Account remote.Account      // what its network says; zero: it was not asked, or said nothing
}

// Checking is how a plugin is checked.
type Checking struct {
	HostVersion string
	SocketDir   string            // contains the sockets; has a short path
	Children    *process.Children // starts the plugin; nil: without adopting processes
	Online      bool              // ask the plugin's network about a config that is good, too
}

// accountTimeout limits the question about an account.
const accountTimeout = 20 * time.Second

// Check starts a plugin's binary, checks its description and its config, and ends it.
func Check(ctx context.Context, block *config.Plugin, how Checking, log hclog.Logger) (c Checked, err error) {
	sockets := newSockets(&pids{})
	defer sockets.close()
	starting, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	l, err := launch(starting, block, how.SocketDir, how.Children, sockets, log)
	if err != nil {
		return Checked{}, err
	}
	defer func() { _ = l.end() }() // an error means that it has ended
	if c.Description, err = l.plugin.Describe(starting, how.HostVersion); err != nil {
		return Checked{}, err
	}
	own, err := block.Decode(c.Schema)
	if err != nil {
		c.Misfit = err
		return c, nil
	}
	c.Config = own
	if c.Can(remote.CheckConfig) {
		if c.Found, err = l.plugin.CheckConfig(starting, own); err != nil {
			return c, err
		}
	}
	if !how.Online || !c.Can(remote.CheckAccount) || slices.ContainsFunc(c.Found, func(d remote.Diagnostic) bool { return !d.Warning }) {
		return c, nil
	}
	ctx, cancel = context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	if c.Account, c.Refused, err = l.plugin.CheckAccount(ctx, own); err != nil {
		c.Refused = []remote.Diagnostic{{Summary: "The network cannot be asked", Detail: err.Error()}}
	}
	return c, nil
}
