package turn

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
)

// steerTime is how long a running turn waits for what it is to be told, files and all.
const steerTime = 10 * time.Second

// steering tells a running turn the messages that wait for it, in order.
type steering struct {
	handler *Handler
	run     *conversation.Turn
	over    bool // a message could not be told: it waits for a turn of its own, and what comes behind it, too
}

// lines takes the messages that wait. Beside an error it returns those before the one that could not be told.
func (s *steering) lines(ctx context.Context) ([]agent.Line, error) {
	if s.over {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, steerTime)
	defer cancel()
	lines, err := s.take(ctx)
	s.over = err != nil
	return lines, err
}

func (s *steering) take(ctx context.Context) (lines []agent.Line, err error) {
	joined, err := s.handler.options.Store.Join(ctx, s.run.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range joined {
		text, err := s.handler.options.Prompts.Steered(ctx, m)
		if err != nil {
			return lines, err
		}
		lines = append(lines, agent.Line{UUID: m.UUID, Text: text})
	}
	return lines, nil
}
