package prompt

import (
	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Agents says what the agents of the current config are told. It implements command.Agents.
type Agents struct {
	prompters     *config.Derived[map[string]*agent.Prompter]
	builder       *Builder
	conversations *conversation.Resolver
}

// NewAgents returns the agents with these prompters, by the agents' labels.
func NewAgents(prompters *config.Derived[map[string]*agent.Prompter], builder *Builder, conversations *conversation.Resolver) Agents {
	return Agents{prompters: prompters, builder: builder, conversations: conversations}
}

// SkillList returns the current skills of an agent; none of an unknown one.
func (a Agents) SkillList(label string) []agent.Skill { return a.prompters.Get()[label].SkillList() }

// Sections returns the parts of a session's system prompt.
func (a Agents) Sections(caller chat.Caller, s domain.Session) []agent.Section {
	return a.builder.System(a.conversations.Session(caller, s)).Sections
}
