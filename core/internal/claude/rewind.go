package claude

import (
	"context"
	"errors"
	"slices"
	"time"

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

// Place is a session of Claude's: that of an agent in a folder, or, without one, in the agent's workspace.
type Place struct{ Agent, Folder, Session string }

func (p Place) turn() agent.Turn {
	return agent.Turn{Agent: p.Agent, Folder: p.Folder, Session: p.Session, Started: true, Authority: chat.Owner}
}

// LastChanges returns what the last turn of a session that has changed files has done to them.
func (p *Pool) LastChanges(of Place) (transcript.Changed, error) {
	here, err := p.cliOf(of.Agent, of.Folder)
	if err != nil {
		return transcript.Changed{}, err
	}
	return here.Transcripts.LastChanges(of.Session)
}

// rewindTime limits restoring files.
const rewindTime = 30 * time.Second

// Rewind restores the files that the tools of a session have changed since a message, if that does what was agreed to. Without
// an agreement, it only says what it would do. If no process of the session runs, one is started. What has begun to be restored is
// completed, even if ctx ends. Its errors are [ErrBusy],
// [ErrChanged], [client.ErrNoCheckpoint], [client.ErrNoRewind], an [*agent.Failure], ctx's, or the CLI's message.
func (p *Pool) Rewind(ctx context.Context, of Place, message string, agreed *client.Rewound) (client.Rewound, error) {
	here, err := p.cliOf(of.Agent, of.Folder)
	if err != nil {
		return client.Rewound{}, err
	}
	if err := p.enterIdle(ctx, of.Session); err != nil {
		return client.Rewound{}, err
	}
	var s *worker
	defer func() { p.exit(of.Session, s) }()
	p.mu.Lock()
	s = p.idle.remove(of.Session)
	p.mu.Unlock()
	if s == nil || !s.alive() {
		// Without the host's tools, no turn runs in this process.
		if s, _, err = p.acquire(ctx, here, of.turn()); err != nil {
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
	restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), rewindTime)
	defer cancel()
	done, err := s.Rewind(restoring, message, false)
	if restoring.Err() != nil {
		s.process.Destroy() // no turn begins while it may still restore files
	}
	return done, err
}
