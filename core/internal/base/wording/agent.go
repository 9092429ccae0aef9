package wording

import (
	"fmt"
	"strings"
)

// Agent is an agent that people may choose.
type Agent struct {
	Label       string
	Description string // may be empty
}

// Agents lists the agents that a person may choose, for /agent. Now is the label of the one that answers in the conversation.
func Agents(list []Agent, now string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s answers here.\n", Code(now))
	for _, a := range list {
		fmt.Fprintf(&b, "\n- %s", Code(a.Label))
		if a.Description != "" {
			b.WriteString(": " + OneLine(a.Description, maxCode))
		}
	}
	if len(list) > 1 || len(list) == 1 && list[0].Label != now {
		b.WriteString("\n\n`/agent NAME` has another one answer here, `/agent NAME TEXT` asks it once.")
	}
	return b.String()
}

// OneAgent answers /agent where the config has only one.
const OneAgent = "There is only one agent. Further ones are configured by `agent` blocks with a name."

// AgentChosen tells a chat which agent answers from now on, and whether a conversation with it has begun here.
func AgentChosen(a Agent, group, begun bool) string {
	text := Code(a.Label) + " answers here now"
	if group {
		text += ", for everyone who writes"
	}
	if a.Description != "" {
		text += ": " + strings.TrimSuffix(OneLine(a.Description, maxCode), ".")
	}
	if begun {
		return text + ".\n\nIt continues its own conversation here. `/agent default` undoes the choice."
	}
	return text + ".\n\nIt begins its own conversation here. `/agent default` undoes the choice."
}

// AgentNotOpen answers a person who may not choose an agent.
func AgentNotOpen(label string) string {
	return fmt.Sprintf("You may not choose %s here. `/agent` lists those that you may choose.", Code(label))
}

// AgentGone tells a chat that a message cannot be answered because the config does not have its agent any more.
func AgentGone(label string) string {
	return fmt.Sprintf("This was for the agent %s, which does not exist any more. Write it again, and the agent that answers here now gets it. `/agent` lists all.", Code(label))
}

// AgentOptions says how /agent is used.
const AgentOptions = "Options: default, or the name of an agent, which `/agent` lists."
