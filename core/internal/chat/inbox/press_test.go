package inbox_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A press on a button of the agent's is a message of the person who presses it, with that person's authority. The label is the
// agent's and gives no command. Data that names no button of this conversation is refused: it may be forged.
// Behaviour: button-agent.
func TestPressesOnButtonsOfTheAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		user chat.UserID
		data string
		text string // empty: it is refused
	}{
		"a button":                         {"owner", "press:t:0", "Yes"},
		"one that looks like a command":    {"owner", "press:t:1", "/stop"},
		"one too many":                     {"owner", "press:t:2", ""},
		"one too few":                      {"owner", "press:t:-1", ""},
		"no number":                        {"owner", "press:t:/stop", ""},
		"none":                             {"owner", "press:t", ""},
		"another message":                  {"owner", "press:u:0", ""},
		"no message":                       {"owner", "press:", ""},
		"a button of another conversation": {"friend", "press:t:0", ""},
		"a stranger":                       {"stranger", "press:t:0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{}
			verdict := submit(t, j, talkative, event(test.user, chat.ButtonPress{MessageID: "m", Data: test.data}))
			if test.text == "" {
				if verdict != chat.Rejected || len(j.accepted) != 0 {
					t.Errorf("it is %v, accepted %+v", verdict, j.accepted)
				}
				return
			}
			if verdict != chat.Accepted || len(j.accepted) != 1 {
				t.Fatalf("it is %v, accepted %+v", verdict, j.accepted)
			}
			in := j.accepted[0]
			if diff := cmp.Diff(&domain.Press{Number: 3}, in.Message.Pressed); diff != "" || in.Message.Command != nil || in.Lane != domain.TurnLane ||
				in.Session != "tg:owner" || in.Message.Text != test.text || in.Message.Authority != chat.Owner || in.Urgent || in.Reset {
				t.Errorf("accepted %+v\n%s", in, diff)
			}
		})
	}
}
