package tools

import (
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// pollArguments are what the model gives for a poll.
type pollArguments struct {
	Question  string   `json:"question"`
	Options   []string `json:"options"`
	Multiple  bool     `json:"multiple"`
	Anonymous bool     `json:"anonymous"`
}

// poll returns the poll with its texts on one line each, and nil for none.
func (in *pollArguments) poll() *chat.Poll {
	if in == nil {
		return nil
	}
	p := &chat.Poll{Question: line(in.Question), Multiple: in.Multiple, Anonymous: in.Anonymous}
	for _, option := range in.Options {
		p.Options = append(p.Options, line(option))
	}
	return p
}

func line(text string) string { return strings.Join(strings.Fields(wire.Repair(text)), " ") }

// Polls refuses a poll that a channel cannot show, and says what it can.
func Polls(channel string, l chat.PollLimits) Refusal {
	if l.Options == 0 {
		return Refusal(fmt.Sprintf("The channel %s has no polls. Use buttons, or list the choices in the text with numbers.", channel))
	}
	can := fmt.Sprintf("The channel %s shows a poll with a question%s and 2 to %d different options%s", channel,
		most(l.Question), l.Options, most(l.Option))
	if !l.Anonymous {
		can += ", never anonymous"
	}
	return Refusal(can + ".")
}

// most says how long a text may be.
func most(l chat.TextLimit) string {
	if l.Max <= 0 {
		return ""
	}
	return fmt.Sprintf(" of at most %d characters", l.Max)
}
