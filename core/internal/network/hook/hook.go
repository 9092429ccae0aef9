// Package hook calls the hooks of plugins: before_agent_start, which adds to a turn, and those that receive messages and
// transcripts and cannot delay anything.
package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// MaxContext is the maximum context from one hook, in bytes; the rest is cut.
const MaxContext = 64 << 10

// Start describes a turn to a hook.
type Start struct {
	TurnID string
	Caller chat.Caller
	Prompt string // what people wrote, without the envelope
}

// Added is what a hook adds.
type Added struct {
	Name         string // the plugin's instance
	Prepend      string // to the turn's prompt
	Conversation string // to its conversation, unless that has this text already
}

// Chain calls hooks concurrently and keeps the order of their results: that of the config file.
type Chain struct {
	plugins *plugins.Registry
	metrics *metrics.Metrics
	log     hclog.Logger
}

// New returns a chain of the plugins that have the hook when a turn begins. Metrics count the calls; nil: nothing does.
func New(plugins *plugins.Registry, metrics *metrics.Metrics, log hclog.Logger) *Chain {
	return &Chain{plugins: plugins, metrics: metrics, log: log}
}

// hook is one plugin's before_agent_start hook.
type hook struct {
	name     string // the plugin's instance
	timeout  time.Duration
	required bool            // a failure fails the turn; otherwise the hook is skipped
	plugin   *plugins.Plugin // nil: it is down
}

// hooks returns the hooks as they are now. Of the plugins that do not run, it has those that a turn requires: they fail.
func (c *Chain) hooks() []hook {
	var list []hook
	for _, e := range c.plugins.Entries() {
		block := e.Config()
		h := hook{name: block.Label, timeout: block.Hook.Timeout, required: block.Hook.OnError == "fail", plugin: e.Running()}
		if h.plugin == nil && h.required || h.plugin != nil && h.plugin.Can(remote.BeforeAgentStart) {
			list = append(list, h)
		}
	}
	return list
}

// BeforeAgentStart returns what the hooks add, in order, without empty answers. Its error names the required hook that
// failed.
func (c *Chain) BeforeAgentStart(ctx context.Context, start Start) ([]Added, error) {
	hooks := c.hooks()
	added := make([]Added, len(hooks))
	failed := make([]error, len(hooks))
	var calls sync.WaitGroup
	for i, h := range hooks {
		calls.Go(func() {
			ctx, asked := trace.Start(ctx, "hook", "plugin", h.name)
			began := time.Now()
			added[i], failed[i] = call(ctx, h, start)
			asked.End(failed[i])
			c.metrics.Hook(h.name, time.Since(began), failed[i] != nil)
		})
	}
	calls.Wait()

	var contexts []Added
	var errs []error
	for i, h := range hooks {
		switch err := failed[i]; {
		case err == nil && (added[i].Prepend != "" || added[i].Conversation != ""):
			contexts = append(contexts, added[i])
		case err == nil:
		case h.required:
			errs = append(errs, fmt.Errorf("hook %s: %w", h.name, err))
		default:
			c.log.Warn("a hook failed and is skipped", "hook", h.name, "session", start.Caller.Session, "error", err)
		}
	}
	return contexts, errors.Join(errs...)
}

func call(ctx context.Context, h hook, start Start) (Added, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	if h.plugin == nil {
		return Added{}, remote.ErrGone
	}
	prepend, conversation, err := h.plugin.BeforeAgentStart(ctx, start.TurnID, start.Caller, start.Prompt)
	return Added{Name: h.name, Prepend: clean(prepend), Conversation: clean(conversation)}, err
}

// clean bounds a hook's text.
func clean(text string) string {
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), MaxContext)]), "")
}
