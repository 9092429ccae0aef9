package permission

import (
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// verdict is the answer to a question, as the store keeps it.
type verdict struct {
	Allow bool   `json:"allow"`
	Said  string `json:"said,omitempty"` // for the model: the reason, or the choice
	// Value is what an MCP server gets of a field of its form; nil: nothing.
	Value json.RawMessage `json:"value,omitempty"`
	Plain *Written        `json:"plain,omitempty"` // the plain message that was the answer, if it was not a command
}

// Written is a plain message that answers a question.
type Written struct {
	ID     string      `json:"id"` // unique to the message
	Text   string      `json:"text"`
	Caller chat.Caller `json:"caller"`
	// Words reports whether it makes sense without the question: if it comes too late, it is treated as an ordinary
	// message.
	Words bool `json:"words,omitempty"`
}

func readVerdict(answer json.RawMessage) (v verdict, err error) {
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, fmt.Errorf("read an answer: %w", err)
	}
	return v, nil
}

// decision is the answer for the model. For a choice it contains the chosen options instead of a message.
func (v verdict) decision(about wording.Subject) agent.Decision {
	switch {
	case v.Allow:
		return agent.Decision{Allow: true, Message: v.Said}
	case v.Said == "" && about == wording.AboutPlan:
		return agent.Decision{Message: "The plan was not approved."}
	case v.Said == "":
		return agent.Decision{Message: "It was not allowed."}
	default:
		return agent.Decision{Message: v.Said}
	}
}
