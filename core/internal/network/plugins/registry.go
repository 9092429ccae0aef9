// Package plugins knows the plugins of the config: which of them run now, and what they can do.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ErrAway means that a channel does not run, and will be started again by itself.
var ErrAway = errors.New("the channel is not running")

// Registry finds the plugins that run. Ask it at each use: a plugin may end at any time, and a reload of the config may add or remove
// one. It is safe for concurrent use.
type Registry struct {
	changes *changes

	mu   sync.Mutex // held while list is replaced
	list atomic.Pointer[list]
}

// list is what the config says of plugins. It does not change.
type list struct {
	entries  []*Entry // the enabled ones, in the order of the config file
	byName   map[string]*Entry
	disabled []string // the other plugins of the config
}

// changes notifies waiters of each change.
type changes struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next change; nil: no waiters
}

func (c *changes) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// New returns the registry of a config's enabled plugins, none of which runs yet.
func New(blocks []*config.Plugin) *Registry {
	r := &Registry{changes: &changes{}}
	r.list.Store(&list{})
	r.Configure(blocks)
	return r
}

// Configure makes these the plugins of the config, as a reload does. The supervisor starts, ends and restarts their processes.
func (r *Registry) Configure(blocks []*config.Plugin) {
	defer r.changes.tell() // after unlocking: woken goroutines ask at once
	r.mu.Lock()
	defer r.mu.Unlock()
	before, next := r.list.Load(), &list{byName: map[string]*Entry{}}
	for _, p := range blocks {
		if !p.Enabled {
			next.disabled = append(next.disabled, p.Label)
			continue
		}
		e := before.byName[p.Label]
		if e == nil {
			e = newEntry(p, r.changes)
		}
		e.config.Store(p)
		next.entries = append(next.entries, e)
		next.byName[p.Label] = e
	}
	r.list.Store(next)
	for name, e := range before.byName {
		if next.byName[name] == nil {
			e.remove()
		}
	}
}

// Entries returns the enabled plugins in the order of the config file.
func (r *Registry) Entries() []*Entry { return r.list.Load().entries }

// Entry returns an enabled plugin; nil: no plugin has the name.
func (r *Registry) Entry(name string) *Entry { return r.list.Load().byName[name] }

// Enabled reports whether the config has an enabled plugin of that name.
func (r *Registry) Enabled(name string) bool { return r.Entry(name) != nil }

// Names lists the enabled plugins.
func (r *Registry) Names() []string {
	var names []string
	for _, e := range r.Entries() {
		names = append(names, e.Config().Label)
	}
	return names
}

// Get returns a plugin if it runs.
func (r *Registry) Get(name string) (*Plugin, bool) {
	e := r.Entry(name)
	if e == nil {
		return nil, false
	}
	p := e.Running()
	return p, p != nil
}

// Running reports whether a plugin runs.
func (r *Registry) Running(name string) bool {
	_, running := r.Get(name)
	return running
}

// With returns the running plugins of this host that have a capability, in the order of the config file.
func (r *Registry) With(c remote.Capability) []*Plugin {
	var list []*Plugin
	for _, e := range r.Entries() {
		if p := e.Running(); p != nil && p.Host == "" && p.Can(c) {
			list = append(list, p)
		}
	}
	return list
}

// Await returns the plugin once it runs. Its error is ctx's, or says that there is no such plugin. A running plugin is
// returned even if ctx has ended.
func (r *Registry) Await(ctx context.Context, name string) (*Plugin, error) {
	for {
		e := r.Entry(name)
		if e == nil {
			return nil, fmt.Errorf("no plugin %q is enabled", name)
		}
		p, changed := e.current()
		if p != nil {
			return p, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// AwaitOwn returns the plugin once it runs on this host, with a context that ends when that changes, or when the given one ends. The error is
// as that of [Registry.Await]. The caller calls stop.
func (r *Registry) AwaitOwn(ctx context.Context, name string) (p *Plugin, running context.Context, stop func(), err error) {
	for {
		e := r.Entry(name)
		if e == nil {
			return nil, nil, nil, fmt.Errorf("no plugin %q is enabled", name)
		}
		p, life, changed := e.own()
		if p != nil {
			running, cancel := context.WithCancel(life) // a child, so that it has ended before anybody learns of another process
			unwatch := context.AfterFunc(ctx, cancel)
			return p, running, func() { unwatch(); cancel() }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, nil, ctx.Err()
		}
	}
}

// Own returns a plugin if it runs on this host.
func (r *Registry) Own(name string) (*Plugin, bool) {
	p, running := r.Get(name)
	if !running || p.Host != "" {
		return nil, false
	}
	return p, true
}

// Steady reports whether each plugin runs, a channel also connected, or has failed to.
func (r *Registry) Steady() bool {
	return !slices.ContainsFunc(r.List(), func(s Status) bool {
		connects := s.channel() && (s.Connection == 0 || s.Connection == chat.Connecting)
		return s.State == Starting || s.State == Running && connects
	})
}

// Changed returns a channel that is closed when the state of a plugin or of its connection changes. Call it before [Registry.With] or
// [Registry.Get], so that no change is missed.
func (r *Registry) Changed() <-chan struct{} { return r.changes.wait() }

// List returns the states of the enabled plugins in the order of the config file.
func (r *Registry) List() []Status {
	entries := r.Entries()
	list := make([]Status, len(entries))
	for i, e := range entries {
		list[i] = e.Status()
	}
	return list
}

// Limits returns a channel's limits in one kind of chat, from its newest process; false: unknown yet.
func (r *Registry) Limits(name string, kind chat.Kind) (chat.Limits, bool) {
	e := r.Entry(name)
	if e == nil {
		return chat.Limits{}, false
	}
	return e.limitsIn(kind)
}

// ChannelNames lists the enabled plugins that are known to be channels, whether they run or not.
func (r *Registry) ChannelNames() []string {
	var names []string
	for _, status := range r.List() {
		if status.channel() {
			names = append(names, status.Name)
		}
	}
	return names
}

// CheckChannel returns why no messages can be sent to a plugin. A channel that does not run, and a plugin that has never said what it
// is, may take them later.
func (r *Registry) CheckChannel(name string) error {
	what := fmt.Sprintf("there is no channel %q", name)
	switch e := r.Entry(name); {
	case e != nil:
		if status := e.Status(); len(status.Kinds) == 0 || status.channel() {
			return nil
		}
		what = name + " is no channel"
	case slices.Contains(r.list.Load().disabled, name):
		what = fmt.Sprintf("the plugin %q is disabled in the config", name)
	}
	if names := r.ChannelNames(); len(names) > 0 {
		return fmt.Errorf("%s; the channels are: %s", what, strings.Join(names, ", "))
	}
	return fmt.Errorf("%s, and there is none to which messages can be sent", what)
}

// Channels describes the state of each channel.
func (r *Registry) Channels() []string {
	var lines []string
	for _, status := range r.List() {
		if !status.channel() && status.State == Running {
			continue
		}
		state := string(status.State)
		if status.State == Running && status.Connection != 0 {
			state = status.Connection.String()
		}
		lines = append(lines, fmt.Sprintf("%s: %s", status.Name, state))
	}
	return lines
}

// Doing returns what the running plugins say that they are doing, a line for each that says something.
func (r *Registry) Doing() []string {
	var lines []string
	for _, status := range r.List() {
		if status.State == Running && status.Doing != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", status.Name, status.Doing))
		}
	}
	return lines
}

// Grants lists the other channels that a plugin may reach.
func (r *Registry) Grants(instance string) []string {
	if e := r.Entry(instance); e != nil {
		return e.Config().Grants
	}
	return nil
}

// ReadsTranscripts reports whether a plugin follows transcripts, and its block also lets it read what was said before. A
// plugin may ask while it starts: then it waits until the plugin runs.
func (r *Registry) ReadsTranscripts(ctx context.Context, instance string) bool {
	if e := r.Entry(instance); e == nil || !e.Config().ReadTranscripts {
		return false
	}
	p, err := r.Await(ctx, instance)
	return err == nil && p.Can(remote.TranscriptAppended)
}

// History returns the newest messages before one of a chat, oldest first; none if its channel cannot read them.
func (r *Registry) History(ctx context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	p, running := r.Get(of.Channel)
	if !running || !p.Can(remote.History) {
		return nil, nil
	}
	return p.History(ctx, of, before, limit)
}

// FetchFile reads a file from its channel's network, of at most this many bytes. Errors, including those of reading, are a
// [*chat.FileError] if there is a reason for people, and [ErrAway] if the channel will run again.
func (r *Registry) FetchFile(ctx context.Context, channel string, token chat.FileToken, most int64) (io.ReadCloser, error) {
	switch p, running := r.Get(channel); {
	case running:
		return p.FetchFile(ctx, token, most)
	case r.Enabled(channel) && r.Entry(channel).starts():
		return nil, ErrAway
	default:
		return nil, &chat.FileError{Problem: "could not be fetched, because its channel is not running"}
	}
}
