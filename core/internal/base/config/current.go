package config

import (
	"sync"
	"sync/atomic"
)

// Getter has the config of a running host. A reload replaces it: ask at each use, and once for what belongs together.
type Getter interface {
	// Get returns the config as it is now. What it returns does not change.
	Get() *Config
}

// Get implements [Getter], for a config that stays.
func (c *Config) Get() *Config { return c }

// Current is the [Getter] of a host whose config can be reloaded. It is safe for concurrent use.
type Current struct {
	root, demo bool // as for [Config.Warnings]
	config     atomic.Pointer[Config]
	refused    atomic.Pointer[string] // why the file could not be applied when it was read last; nil: it was

	mu   sync.Mutex
	next chan struct{} // closed at the next change; nil: nobody waits
}

// NewCurrent returns the config that a host starts with. Root and demo are those of [Config.Warnings].
func NewCurrent(c *Config, root, demo bool) *Current {
	current := &Current{root: root, demo: demo}
	current.config.Store(c)
	return current
}

// Get implements [Getter].
func (c *Current) Get() *Config { return c.config.Load() }

// Refuse notes why the file, as it is now, cannot become the current config.
func (c *Current) Refuse(why error) {
	text := why.Error()
	c.refused.Store(&text)
}

// Replace makes another config the current one.
func (c *Current) Replace(next *Config) {
	c.refused.Store(nil)
	c.config.Store(next)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Changed returns a channel that is closed when the config is replaced. Call it before [Current.Get], so that no change is missed.
func (c *Current) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Derived is what is made of the current config. It is made again when that was replaced. It is safe for concurrent use.
type Derived[T any] struct {
	current Getter
	derive  func(*Config) T

	mu    sync.Mutex
	of    *Config
	value T
}

// Derive returns what a function makes of the current config.
func Derive[T any](current Getter, derive func(*Config) T) *Derived[T] {
	return &Derived[T]{current: current, derive: derive}
}

// Get returns what was made of the current config. A nil Derived has the zero value.
func (d *Derived[T]) Get() (made T) {
	if d == nil {
		return made
	}
	c := d.current.Get()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != c {
		d.of, d.value = c, d.derive(c)
	}
	return d.value
}
