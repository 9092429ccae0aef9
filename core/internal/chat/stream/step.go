package stream

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/text/answer"
)

// text is a text before a tool.
type text struct {
	answer.Answer
	past answer.Answer // the part that the answer will begin with as well
}

func textOf(step agent.Step) text {
	return text{answer.Parse(step.Earlier+step.Text, true), answer.Parse(step.Earlier, true)}
}

// begun reports whether what was said is a beginning of the text itself.
func (t text) begun(said string) bool {
	return len(said) > len(t.past.Text) && strings.HasPrefix(t.Text, said)
}

// remains returns the part of a sent text that the answer will begin with.
func (t text) remains(said string) string {
	switch past := t.past.Text; {
	case strings.HasPrefix(said, past):
		return past
	case strings.HasPrefix(past, said):
		return said
	default:
		return ""
	}
}
