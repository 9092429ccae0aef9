package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// syncBudget limits how long a turn waits for changed files. Files that take longer are used from the next turn on.
const syncBudget = 300 * time.Millisecond

// memory is the memory of one agent.
type memory struct {
	config config
	log    *slog.Logger
	now    func() time.Time
	index  *index
	files  *files
	access *access
	alarm  alarm
}

// work indexes the files.
func (m *memory) work(ctx context.Context) error {
	err := m.files.sync(ctx, "")
	if err != nil && ctx.Err() == nil && !errors.Is(err, errDamaged) {
		m.log.Warn("the memory files cannot be read now", "error", err)
		return nil
	}
	return err
}

// remind returns what is known about the prompt, and MEMORY.md for the conversation.
func (m *memory) remind(ctx context.Context, start sdk.AgentStart) (added sdk.AgentContext, err error) {
	v, allowed, err := m.access.look(ctx, start.Caller)
	if err != nil || !allowed {
		return sdk.AgentContext{}, err
	}
	if start.TakesConversation {
		added.Conversation, v.shown = m.memoryFile(v)
	}
	best, err := m.find(ctx, v, start.Prompt, m.config.MaxPassages)
	if err != nil {
		return sdk.AgentContext{}, err
	}
	added.Prepend = block(best, m.config.MaxBytes)
	return added, nil
}

// find returns the passages of a view that match a text best, at most limit.
func (m *memory) find(ctx context.Context, v view, text string, limit int) ([]candidate, error) {
	if err := m.refresh(ctx, v.folder); err != nil {
		return nil, err
	}
	best, err := m.index.recall(ctx, v, text, m.now(), limit)
	if err != nil {
		return nil, err
	}
	if !v.private {
		// The files are the owner's own notes; others do not see the secrets in them.
		for i := range best {
			best[i].heading, best[i].body = redacted(best[i].heading), redacted(best[i].body)
		}
	}
	return best, nil
}

// refresh indexes changed files within the budget. Unreadable files do not prevent recall.
func (m *memory) refresh(ctx context.Context, folder string) error {
	budget, cancel := context.WithTimeout(ctx, syncBudget)
	defer cancel()
	err := m.files.sync(budget, folder)
	switch {
	case errors.Is(err, errDamaged):
		return err
	case err == nil, budget.Err() != nil:
		return ctx.Err()
	default:
		m.log.Warn("the memory files cannot be read now", "error", err)
		return nil
	}
}

// alarm ends the plugin when an index is damaged: the host then restarts the plugin, which rebuilds the index.
type alarm chan error

// report returns an error, after it raised the alarm if an index is damaged.
func (a alarm) report(err error) error {
	if errors.Is(err, errDamaged) {
		select {
		case a <- err:
		default: // already raised
		}
	}
	return err
}
