package claude

import (
	"context"
	"errors"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Reasons why files are not rewound now.
var (
	// ErrBusy: a turn of the session runs.
	ErrBusy = errors.New("a turn of this session runs")
	// ErrChanged: it would do something else than what was agreed to.
	ErrChanged = errors.New("what would be rewound has changed")
)

// LastChanges returns what the last turn of an agent's session that has changed files has done to them.
func (p *Pool) LastChanges(agent, session string) (transcript.Changed, error) {
	return p.agents[agent].Transcripts.LastChanges(session)
}

// Rewind restores the files that the tools of an agent's session have changed since a message, if that does what was agreed to. Without
// an agreement, it only says what it would do. If no process of the session runs, one is started. Its errors are [ErrBusy],
// [ErrChanged], [client.ErrNoCheckpoint], [client.ErrNoRewind], an [*agent.Failure], ctx's, or the CLI's message.
func (p *Pool) Rewind(ctx context.Context, of, session, message string, agreed *client.Rewound) (client.Rewound, error) {
	if running, err := p.reserve(session); err != nil {
		return client.Rewound{}, err
	} else if running != nil {
		return client.Rewound{}, ErrBusy
	}
	var s *worker
	defer func() { p.exit(session, s) }()
	p.mu.Lock()
	s = p.idle[session]
	delete(p.idle, session)
	p.mu.Unlock()
	if s == nil || !s.alive() {
		// Without the host's tools, no turn runs in this process.
		var err error
		if s, _, err = p.acquire(ctx, agent.Turn{Agent: of, Session: session, Started: true, Authority: chat.Owner}); err != nil {
			return client.Rewound{}, err
		}
		s.Dismiss()
	}
	would, err := s.Rewind(ctx, message, true)
	switch {
	case err != nil || agreed == nil:
		return would, err
	case would.Added != agreed.Added || would.Removed != agreed.Removed || !slices.Equal(would.Files, agreed.Files):
		return would, ErrChanged
	}
	return s.Rewind(ctx, message, false)
}
