package turn

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// steerTime bounds how long a running turn waits for the messages to steer into it, with their files.
const steerTime = 10 * time.Second

// steering passes waiting messages to a running turn, in order.
type steering struct {
	handler *Handler
	run     *conversation.Run
	nudged  <-chan struct{}
	over    bool // a message could not be steered: it and all later ones wait for their own turn
}

// Nudged implements [agent.Steering].
func (s *steering) Nudged() <-chan struct{} { return s.nudged }

// Lines implements [agent.Steering]. With an error it returns the messages before the one that could not be steered.
func (s *steering) Lines(ctx context.Context) ([]agent.Line, error) {
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
		prompt, err := s.handler.options.Prompts.Steered(ctx, s.run.Conversation, m)
		if err != nil {
			return lines, err
		}
		if err := s.handler.tellUnheard(ctx, s.run, prompt); err != nil {
			return lines, err
		}
		lines = append(lines, agent.Line{UUID: m.UUID, Text: prompt.Text, Pictures: prompt.Pictures})
	}
	return lines, nil
}
