package sessions

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// ChooseAgent records the agent that people have chosen for a conversation.
func ChooseAgent(t *engine.Tx, c domain.AgentChoice) error {
	if c.Agent == "" {
		_, err := t.Exec(`DELETE FROM chosen_agents WHERE conversation = ?1`, c.Conversation)
		return err
	}
	_, err := t.Exec(`INSERT INTO chosen_agents (conversation, agent) VALUES (?1, ?2)
		ON CONFLICT (conversation) DO UPDATE SET agent = excluded.agent`, c.Conversation, c.Agent)
	return err
}

// ChosenAgent returns the agent that people have chosen for a conversation, by the key of its session with the main agent; empty:
// none.
func (s *Store) ChosenAgent(ctx context.Context, conversation string) (agent string, err error) {
	err = engine.NoRows(s.db.View(ctx).Row(`SELECT agent FROM chosen_agents WHERE conversation = ?1`, []any{conversation}, &agent))
	if err != nil {
		return "", fmt.Errorf("chosen agent: %w", err)
	}
	return agent, nil
}
