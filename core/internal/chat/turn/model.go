package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// triedLast is the longest time for which a model whose limit is reached is asked only after the others. The account may
// get another plan before the limit ends.
const triedLast = time.Hour

// models chooses which models a turn is tried with.
type models struct {
	mu      sync.Mutex
	limited map[limited]time.Time // until when a model is tried last
}

// limited is a model with the account of an agent.
type limited struct{ agent, model string }

func newModels() *models { return &models{limited: map[limited]time.Time{}} }

// order returns the models to try for a chosen one, in order: those last whose limit is reached.
func (m *models) order(of *config.Agent, chosen string) []string {
	fallbacks := of.Claude.FallbackModels
	if len(fallbacks) == 0 {
		return []string{chosen}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	list := append([]string{chosen}, slices.DeleteFunc(slices.Clone(fallbacks), func(name string) bool { return name == chosen })...)
	slices.SortStableFunc(list, func(a, b string) int {
		last := func(name string) int {
			if m.limited[limited{of.Label, name}].After(now) {
				return 1
			}
			return 0
		}
		return cmp.Compare(last(a), last(b))
	})
	return list
}

// limit notes that the limit of an agent's model is reached until a time.
func (m *models) limit(of *config.Agent, name string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if most := now.Add(triedLast); until.After(most) {
		until = most
	}
	for name, over := range m.limited {
		if !over.After(now) {
			delete(m.limited, name)
		}
	}
	m.limited[limited{of.Label, name}] = until
}

// passes reports whether another model is tried after such a failure of the chosen model, or of a fallback model. What a
// fallback model cannot answer, such as a conversation that is too long for it, says nothing about the chosen one.
func passes(class agent.Class, chosen bool) bool {
	switch class {
	case agent.RateLimit, agent.Overloaded, agent.Billing, agent.Auth, agent.Timeout:
		return true
	case agent.ContextOverflow, agent.Model, agent.ContentFilter, agent.Rejected, agent.Server:
		return !chosen
	default:
		return false
	}
}

// askModels runs a turn with the chosen model, and with the fallback models while the ones before fail for a reason of
// their own. If all fail, the failure is the chosen model's, with the time at which the first limit ends. It notes in
// t that Claude may have the message.
func (h *Handler) askModels(ctx context.Context, run *conversation.Run, t *agent.Turn) (agent.Result, error) {
	chosen := t.Profile.Model
	defer func() { t.Profile.Model = chosen }()
	var first *agent.Failure // the failure that counts: the chosen model's, if it was asked
	var spent agent.Result
	list := h.models.order(run.Agent, chosen)
	for i := 0; ; i++ {
		model := list[i]
		t.Profile.Model = model
		result, err := h.options.Claude.Run(ctx, *t)
		if i > 0 {
			result.Continued = spent.Continued
		}
		charge(&result, spent)
		var failure *agent.Failure
		if err == nil && model != chosen && result.Fallback.From == "" {
			result.Fallback = agent.Fallback{From: cmp.Or(chosen, run.Session.Model, "default"), To: cmp.Or(result.Model, model), Why: agent.RateLimit}
			if first != nil {
				result.Fallback.Why = first.Class
			}
		}
		if !errors.As(err, &failure) || ctx.Err() != nil || !passes(failure.Class, model == chosen) {
			return result, err
		}
		if failure.Class == agent.RateLimit && failure.ResetsAt.After(time.Now()) {
			h.models.limit(run.Agent, model, failure.ResetsAt)
		}
		resets := earliest(failure, first)
		if first == nil || model == chosen {
			first = new(*failure) // the failure itself belongs to who returned it
		}
		first.ResetsAt = resets
		if i+1 == len(list) {
			return result, first
		}
		h.log.Warn("another model is tried", "session", run.Session.Key, "run", run.ID, "model", model, "next", list[i+1], "error", err)
		spent = result
		t.Again = true
	}
}

// earliest returns when the first of two limits ends; zero: none is known.
func earliest(a, b *agent.Failure) time.Time {
	switch {
	case b == nil || b.ResetsAt.IsZero():
		return a.ResetsAt
	case a.ResetsAt.IsZero() || b.ResetsAt.Before(a.ResetsAt):
		return b.ResetsAt
	default:
		return a.ResetsAt
	}
}
