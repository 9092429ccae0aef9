package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/clawhost/clawhost/sdk"
)

// conversations are those with one agent, in its index.
type conversations struct {
	index       *index
	transcripts *transcripts
	older       *older
	recalled    bool
}

// openConversations opens the index in a folder, and empties it of conversations if they are not to be recalled.
func openConversations(
	ctx context.Context, folder, agent string, source sdk.Transcripts, recalled bool, log *slog.Logger,
) (*conversations, error) {
	x, err := openIndex(ctx, folder, log)
	if err != nil {
		return nil, err
	}
	t := &transcripts{index: x, limit: maxEntries}
	if !recalled {
		if err := t.deleteAll(ctx); err != nil {
			return nil, errors.Join(err, x.close())
		}
	}
	return &conversations{
		index: x, transcripts: t, recalled: recalled,
		older: &older{agent: agent, source: source, transcripts: t, log: log},
	}, nil
}

// work indexes conversations from before.
func (c *conversations) work(ctx context.Context) error {
	if !c.recalled {
		return nil
	}
	return c.older.read(ctx)
}

// append indexes what was said in a session of the agent.
func (c *conversations) append(ctx context.Context, appended sdk.TranscriptAppended) error {
	if !c.recalled {
		return nil
	}
	return c.transcripts.append(ctx, keyOf(appended.Agent, appended.Session), appended.Entries)
}
