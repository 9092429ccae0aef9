// Package gateway does what programs ask of the host: it sends their messages and runs their turns, each once for a key. The programs
// are plugins, and those of the operator. Package hostapi serves it to the ones, package admin to the others.
package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
)

// maxTurns limits the turns that a plugin waits for at a time. Each of them has an open call.
const maxTurns = 100

// Options are a gateway's collaborators.
type Options struct {
	Store         *store.Store
	Conversations *conversation.Resolver
	Files         *files.Store
	Plugins       *plugins.Registry
	Intake        *inbox.Intake
	Dispatcher    *dispatch.Dispatcher
	Commands      *command.Registry
	Closing       <-chan struct{} // closed when the host shuts down
}

// Gateway sends messages and runs turns for programs. It is safe for concurrent use.
type Gateway struct {
	options Options
	log     hclog.Logger
	waiters
}

// New returns a gateway.
func New(options Options, log hclog.Logger) *Gateway { return &Gateway{options: options, log: log} }

// Caller is a program that asks for something, and what it may ask for. The zero Caller is a program of the operator: whoever
// reaches the control socket, or has the token, may do all that an owner may.
type Caller struct {
	plugin string        // its instance; empty: it is no plugin
	grants []string      // the other channels that the plugin may reach
	turns  chan struct{} // has a value for each turn that the plugin waits for
}

// Plugin returns the caller that is a plugin, which may reach its own channel and those of its grants.
func Plugin(instance string, grants []string) Caller {
	return Caller{plugin: instance, grants: grants, turns: make(chan struct{}, maxTurns)}
}

// Reach returns a [Refusal] if the caller may not use a channel.
func (c Caller) Reach(channel string) error {
	if c.plugin == "" || channel == c.plugin || slices.Contains(c.grants, channel) {
		return nil
	}
	return Refusal{Denied, fmt.Sprintf("the block of plugin %q grants no access to channel %q", c.plugin, channel)}
}

// key makes the caller's key one of the host's, so that no two callers share keys.
func (c Caller) key(ofOperator, ofPlugin domain.KeyKind, key string) domain.Key {
	sum := sha256.Sum256([]byte(key))
	if c.plugin == "" {
		return ofOperator.Of("gateway", hex.EncodeToString(sum[:]))
	}
	return ofPlugin.Of(c.plugin, hex.EncodeToString(sum[:]))
}

// Refusal is why a request is refused. Its text is for the person who made it, and says what to do.
type Refusal struct {
	Reason Reason
	Text   string
}

// Reason is the kind of a refusal.
type Reason int

// The reasons.
const (
	Invalid Reason = iota // the request cannot be met
	Denied                // the caller may not do this
	Full                  // too much waits
	Closing               // the host is shutting down
	Early                 // what it needs is not running yet
	NoAgent               // the agent does not exist, or the session is another's
	Reused                // the key is that of another request
)

// Error returns the text.
func (r Refusal) Error() string { return r.Text }

// sendable returns a refusal unless the caller may send messages to a channel, and it is one.
func (g *Gateway) sendable(c Caller, channel string) error {
	if err := c.Reach(channel); err != nil {
		return err
	}
	if err := g.options.Plugins.CheckChannel(channel); err != nil {
		return Refusal{Invalid, err.Error()}
	}
	return nil
}
