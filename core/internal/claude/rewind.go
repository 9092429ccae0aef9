package claude

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ErrBusy says that a turn of the session runs.
var ErrBusy = errors.New("a turn of this session runs")

// LastChanges returns what the last turn of an agent's session that has changed files has done to them.
func (p *Pool) LastChanges(agent, session string) (transcript.Changed, error) {
	return p.agents[agent].Transcripts.LastChanges(session)
}

// Rewind restores the files that the tools of an agent's session have changed since a message; with dry, it only says which those
// are. If no process of the session runs, one is started. Its errors are [ErrBusy], [client.ErrNoCheckpoint],
// [client.ErrNoRewind], an [*agent.Failure], ctx's, or the CLI's message.
func (p *Pool) Rewind(ctx context.Context, of, session, message string, dry bool) (client.Rewound, error) {
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
	return s.Rewind(ctx, message, dry)
}
