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

	"github.com/clawhost/clawhost/core/internal/remote"
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

// Hook is one plugin's before_agent_start hook.
type Hook struct {
	Name     string // the plugin's instance
	Timeout  time.Duration
	Required bool   // a failure fails the turn; otherwise the hook is skipped
	Plugin   Plugin // nil: it is down
}

// Plugin answers a hook.
type Plugin interface {
	// BeforeAgentStart returns what the hook adds to a turn, and what the turn's conversation should contain once.
	BeforeAgentStart(ctx context.Context, turnID string, caller chat.Caller, prompt string) (prepend, conversation string, err error)
}

// Added is what a hook adds.
type Added struct {
	Name         string // the plugin's instance
	Prepend      string // to the turn's prompt
	Conversation string // to its conversation, unless that has this text already
}

// Hooks knows the hooks as they are now.
type Hooks interface {
	// Hooks returns them in the order of the config file.
	Hooks() []Hook
}

// Chain calls hooks concurrently and keeps the order of their results.
type Chain struct {
	hooks Hooks
	log   hclog.Logger
}

// New returns a chain. Hooks returns the current hooks, in the order of the config file; it is called at each turn.
func New(hooks Hooks, log hclog.Logger) *Chain {
	return &Chain{hooks: hooks, log: log}
}

// BeforeAgentStart returns what the hooks add, in order, without empty answers. Its error names the required hook that
// failed.
func (c *Chain) BeforeAgentStart(ctx context.Context, start Start) ([]Added, error) {
	hooks := c.hooks.Hooks()
	added := make([]Added, len(hooks))
	failed := make([]error, len(hooks))
	var calls sync.WaitGroup
	for i, h := range hooks {
		calls.Go(func() { added[i], failed[i] = call(ctx, h, start) })
	}
	calls.Wait()

	var contexts []Added
	var errs []error
	for i, h := range hooks {
		switch err := failed[i]; {
		case err == nil && (added[i].Prepend != "" || added[i].Conversation != ""):
			contexts = append(contexts, added[i])
		case err == nil:
		case h.Required:
			errs = append(errs, fmt.Errorf("hook %s: %w", h.Name, err))
		default:
			c.log.Warn("a hook failed and is skipped", "hook", h.Name, "session", start.Caller.Session, "error", err)
		}
	}
	return contexts, errors.Join(errs...)
}

func call(ctx context.Context, h Hook, start Start) (Added, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	if h.Plugin == nil {
		return Added{}, remote.ErrGone
	}
	prepend, conversation, err := h.Plugin.BeforeAgentStart(ctx, start.TurnID, start.Caller, start.Prompt)
	return Added{Name: h.Name, Prepend: clean(prepend), Conversation: clean(conversation)}, err
}

// clean bounds a hook's text.
func clean(text string) string {
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), MaxContext)]), "")
}
