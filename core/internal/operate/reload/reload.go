// Package reload reads the config again while the host works, and applies what has changed: all of it or, if the file has an error or a
// change needs a restart of the host, nothing. Nothing that runs is interrupted, except plugins whose own block has changed.
package reload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/loglevel"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
)

// Source reads the config.
type Source interface {
	// Load reads the file, and what overrides add to it, as [config.LoadWith] does.
	Load(overrides []config.Override) (*config.Config, []config.Misfit, error)
	// CheckPlugins returns what keeps the plugins with these labels from running with a config.
	CheckPlugins(ctx context.Context, c *config.Config, labels []string) error
}

// Store keeps the overrides.
type Store interface {
	ConfigOverrides(ctx context.Context) ([]config.Override, error)
	SetConfigOverride(ctx context.Context, o config.Override) error
	UnsetConfigOverride(ctx context.Context, name string) error
	// WatchConfigOverrides returns a channel that receives a value when overrides may have been set or unset, by any host. The func ends the
	// watch.
	WatchConfigOverrides() (<-chan struct{}, func())
}

// Supervisor restarts plugins.
type Supervisor interface {
	Restart(name string) error
}

// Manager is the service manager, which shows that the host reloads.
type Manager interface {
	// Reloading says that a reload begins, and done that it has ended.
	Reloading() (done func())
}

// Options are a reloader's dependencies.
type Options struct {
	Source     Source
	Store      Store
	Plugins    *plugins.Registry
	Supervisor Supervisor
	Manager    Manager          // nil: nobody is told
	Levels     *loglevel.Levels // nil: they stay
}

// Reloader applies the config. It is safe for concurrent use: one reload at a time.
type Reloader struct {
	options Options
	current *config.Current
	log     hclog.Logger

	turn chan struct{} // a semaphore
}

// New returns a reloader of a config, which is the file's with the overrides.
func New(current *config.Current, options Options, log hclog.Logger) *Reloader {
	return &Reloader{options: options, current: current, log: log, turn: make(chan struct{}, 1)}
}

// Read reads the config with which a host starts: the file's with the overrides.
func Read(ctx context.Context, from Source, s Store, levels *loglevel.Levels, log hclog.Logger) (*config.Config, error) {
	overrides, err := s.ConfigOverrides(ctx)
	if err != nil {
		return nil, err
	}
	c, misfits, err := from.Load(overrides)
	if err != nil {
		return nil, err
	}
	adopt(c, misfits, levels, log)
	return c, nil
}

// adopt applies what no part of the host reads from the config by itself.
func adopt(c *config.Config, misfits []config.Misfit, levels *loglevel.Levels, log hclog.Logger) {
	if levels != nil {
		levels.Set(c.Log.Level, c.Log.Levels)
	}
	for _, m := range misfits {
		log.Warn("a value that was set by /config set does not fit the config and has no effect", "name", m.Name, "why", m.Why)
	}
}

// Reload reads the file and applies it. By is who wants it, for the log. The error is a [config.Problems] for a bad file, a
// [*config.RestartError], or the store's; then nothing has changed.
func (r *Reloader) Reload(ctx context.Context, by string) (config.Reloaded, error) {
	overrides, end, err := r.beginWith(ctx)
	if err != nil {
		return config.Reloaded{}, err
	}
	defer end()
	next, result, err := r.prepare(ctx, overrides)
	if err != nil && ctx.Err() == nil { // otherwise it says nothing of the file
		r.current.Refuse(err)
	}
	if err != nil {
		r.log.Error("the config could not be reloaded; nothing has changed", "by", by, "error", err.Error())
		return config.Reloaded{}, err
	}
	r.apply(next, result, by)
	return result, nil
}

// Set applies a value of the config from now on, also after a restart, until it is unset. It takes precedence over the file, which is
// read again. The error says why the value cannot be set, or is one of [Reloader.Reload].
func (r *Reloader) Set(ctx context.Context, o config.Override) (config.Reloaded, error) {
	o, err := o.Canonical()
	if err != nil {
		return config.Reloaded{}, err
	}
	overrides, end, err := r.beginWith(ctx)
	if err != nil {
		return config.Reloaded{}, err
	}
	defer end()
	o.At = time.Now()
	others := slices.DeleteFunc(overrides, func(other config.Override) bool { return other.Name == o.Name })
	next, result, err := r.prepare(ctx, append(others, o))
	if err != nil {
		return config.Reloaded{}, err
	}
	for _, m := range result.Misfits {
		if m.Name == o.Name {
			return config.Reloaded{}, errors.New(m.Why)
		}
	}
	if slices.Contains(r.current.Get().Access.Owners, o.By) && !slices.Contains(next.Access.Owners, o.By) {
		return config.Reloaded{}, errors.New("you would not be an owner any more: only the file can do that")
	}
	if err := r.options.Store.SetConfigOverride(ctx, o); err != nil {
		return config.Reloaded{}, err
	}
	r.apply(next, result, o.By)
	return result, nil
}

// Unset ends what Set did. The error is [domain.ErrNotFound] if the name was not set, or one of [Reloader.Reload].
func (r *Reloader) Unset(ctx context.Context, name, by string) (config.Reloaded, error) {
	if o, err := (config.Override{Name: name, Value: "null"}).Canonical(); err == nil {
		name = o.Name // otherwise the config may not have it any more
	}
	overrides, end, err := r.beginWith(ctx)
	if err != nil {
		return config.Reloaded{}, err
	}
	defer end()
	others := slices.DeleteFunc(slices.Clone(overrides), func(o config.Override) bool { return o.Name == name })
	if len(others) == len(overrides) {
		return config.Reloaded{}, domain.ErrNotFound
	}
	next, result, err := r.prepare(ctx, others)
	if err != nil {
		return config.Reloaded{}, err
	}
	if err := r.options.Store.UnsetConfigOverride(ctx, name); err != nil {
		return config.Reloaded{}, err
	}
	r.apply(next, result, by)
	return result, nil
}

// Compare returns what Reload would change, including what needs a restart. The error is a [config.Problems] or the store's.
func (r *Reloader) Compare(ctx context.Context) (config.Reloaded, error) {
	overrides, err := r.options.Store.ConfigOverrides(ctx)
	if err != nil {
		return config.Reloaded{}, err
	}
	next, misfits, err := r.options.Source.Load(overrides)
	if err != nil {
		return config.Reloaded{}, err
	}
	changes := r.current.Get().Changes(next)
	return config.Reloaded{Changes: changes, Plugins: affected(changes), Misfits: misfits}, nil
}

// Upgrade restarts a plugin with the binary that is in its place now, if that binary can run with the config. Other plugins go on, and
// what the plugin was doing is finished first.
func (r *Reloader) Upgrade(ctx context.Context, name string) error {
	end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if r.options.Plugins.Enabled(name) {
		if err := r.options.Source.CheckPlugins(ctx, r.current.Get(), []string{name}); err != nil {
			return err
		}
	}
	return r.options.Supervisor.Restart(name)
}

// Written is everything that the config of the running host sets.
func (r *Reloader) Written() []config.Written { return r.current.Get().Written() }

// beginWith begins, and returns the overrides that are set.
func (r *Reloader) beginWith(ctx context.Context) (overrides []config.Override, end func(), err error) {
	if end, err = r.begin(ctx); err != nil {
		return nil, nil, err
	}
	if overrides, err = r.options.Store.ConfigOverrides(ctx); err != nil {
		end()
		return nil, nil, err
	}
	return overrides, end, nil
}

// begin waits for other reloads to end.
func (r *Reloader) begin(ctx context.Context) (end func(), err error) {
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	done := func() {}
	if r.options.Manager != nil {
		done = r.options.Manager.Reloading()
	}
	return func() { done(); <-r.turn }, nil
}

// wait waits for other reloads to end. The caller takes a value from r.turn.
func (r *Reloader) wait(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prepare reads the config that is to be applied, and checks that it can be.
func (r *Reloader) prepare(ctx context.Context, overrides []config.Override) (*config.Config, config.Reloaded, error) {
	next, misfits, err := r.options.Source.Load(overrides)
	if err != nil {
		return nil, config.Reloaded{}, err
	}
	changes := r.current.Get().Changes(next)
	held := slices.DeleteFunc(slices.Clone(changes), func(c config.Change) bool { return c.Effect != config.EffectRestart })
	if len(held) > 0 {
		return nil, config.Reloaded{}, &config.RestartError{Changes: held}
	}
	result := config.Reloaded{Changes: changes, Plugins: affected(changes), Misfits: misfits}
	if err := r.options.Source.CheckPlugins(ctx, next, result.Plugins); err != nil {
		return nil, config.Reloaded{}, err
	}
	return next, result, nil
}

// affected are the plugins whose own block has changed.
func affected(changes []config.Change) (labels []string) {
	for _, c := range changes {
		if c.Plugin != "" && !slices.Contains(labels, c.Plugin) {
			labels = append(labels, c.Plugin)
		}
	}
	return labels
}

// apply makes a config the current one.
func (r *Reloader) apply(next *config.Config, result config.Reloaded, by string) {
	adopt(next, result.Misfits, r.options.Levels, r.log)
	started := slices.DeleteFunc(slices.Clone(result.Plugins), r.options.Plugins.Enabled) // before the reload they were not
	r.current.Replace(next)
	r.options.Plugins.Configure(next.Plugins)
	for _, label := range result.Plugins {
		if r.options.Plugins.Enabled(label) && !slices.Contains(started, label) {
			_ = r.options.Supervisor.Restart(label) // it is enabled
		}
	}
	if len(result.Changes) == 0 {
		return
	}
	names := make([]string, len(result.Changes))
	for i, c := range result.Changes {
		names[i] = c.Name
	}
	r.log.Info("the config has changed", "by", by, "names", strings.Join(names, ","), "plugins", strings.Join(result.Plugins, ","))
}
