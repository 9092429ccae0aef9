package client

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// maxRewound is how many files a rewinding may have that is shown.
const maxRewound = 10_000

// Reasons why files are not rewound.
var (
	// ErrNoCheckpoint: the CLI has not kept the files as they were before the message.
	ErrNoCheckpoint = errors.New("claude has not kept the files as they were before this message")
	// ErrNoRewind: the CLI cannot rewind files, or is set not to.
	ErrNoRewind = errors.New("claude does not rewind files")
)

// Rewound is what a rewinding does, or would do.
type Rewound struct {
	Files          []string // their paths; only of a dry run
	Added, Removed int      // lines; only of a dry run
	Skipped        int      // files that are reached by a link, and are left as they are
}

// Rewind restores all files that the session's tools have changed as they were before a message; with dry, it only says which those
// are. What shell commands, subagents and others have done to other files stays; what they have done to these is lost.
func (c *Client) Rewind(ctx context.Context, message string, dry bool) (Rewound, error) {
	id := uuid.NewString()
	answers, forget := c.expectAnswer(id)
	defer forget()
	c.request(id, map[string]any{"subtype": "rewind_files", "user_message_id": message, "dry_run": dry})
	select {
	case e := <-answers:
		return c.rewound(e)
	case <-c.process.Exited():
		return Rewound{}, ErrNotRunning
	case <-ctx.Done():
		return Rewound{}, context.Cause(ctx)
	}
}

// rewound reads the answer: a dry run that is refused is no error for the CLI.
func (c *Client) rewound(e *protocol.Event) (Rewound, error) {
	r := e.Response.Response.Rewind
	why := e.Response.Error + r.Why
	switch {
	case e.Response.Subtype != "error" && r.CanRewind:
		return Rewound{
			Files: r.Files[:min(len(r.Files), maxRewound)], Added: r.Insertions, Removed: r.Deletions, Skipped: r.Skipped,
		}, nil
	case strings.HasPrefix(why, "Unsupported control request"), strings.Contains(why, "not enabled"):
		return Rewound{}, ErrNoRewind
	case strings.HasPrefix(why, "No file checkpoint"):
		return Rewound{}, ErrNoCheckpoint
	default:
		return Rewound{}, errors.New("rewind files: " + c.command.Redact(why))
	}
}
