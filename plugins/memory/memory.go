package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// syncBudget limits how long a turn waits for changed files. Files that take longer are used from the next turn on.
const syncBudget = 300 * time.Millisecond

var (
	_ sdk.AgentStarter       = (*memory)(nil)
	_ sdk.Toolbox            = (*memory)(nil)
	_ sdk.TranscriptObserver = (*memory)(nil)
	_ sdk.Runner             = (*memory)(nil)
	_ sdk.StatusReporter     = (*memory)(nil)
	_ sdk.Stopper            = (*memory)(nil)
)

// memory is the plugin.
type memory struct {
	config      config
	log         *slog.Logger
	now         func() time.Time
	index       *index
	files       *files
	transcripts *transcripts
	access      *access
	older       *older
	broken      chan error // receives the error that ends the plugin
}

// Run indexes the files, and conversations from before. It returns early if the index is damaged: the host then
// restarts the plugin, which rebuilds the index.
func (m *memory) Run(ctx context.Context) error {
	if err := m.files.sync(ctx, ""); err != nil && ctx.Err() == nil {
		if errors.Is(err, errDamaged) {
			return err
		}
		m.log.Warn("the memory files cannot be read now", "error", err)
	}
	if m.config.Sessions {
		var reading sync.WaitGroup
		defer reading.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reading.Go(func() { _ = m.report(m.older.read(ctx)) }) // the error ends this function
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-m.broken:
		return err
	}
}

// BeforeAgentStart adds what is known about the prompt, and MEMORY.md to the conversation.
func (m *memory) BeforeAgentStart(ctx context.Context, start sdk.AgentStart) (sdk.AgentContext, error) {
	added, err := m.remind(ctx, start)
	return added, m.report(err)
}

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

// TranscriptAppended indexes conversations.
func (m *memory) TranscriptAppended(ctx context.Context, appended sdk.TranscriptAppended) error {
	if !m.config.Sessions {
		return nil
	}
	return m.report(m.transcripts.append(ctx, appended.Session, appended.Entries))
}

// Status says how far older conversations are indexed.
func (m *memory) Status() string { return m.older.status() }

// Stop closes the index. No call is in progress then.
func (m *memory) Stop(context.Context) error { return m.index.close() }

// report makes Run end if the index is damaged.
func (m *memory) report(err error) error {
	if errors.Is(err, errDamaged) {
		select {
		case m.broken <- err:
		default: // already reported
		}
	}
	return err
}
