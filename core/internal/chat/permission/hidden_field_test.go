package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A field that is shown by itself as a text is shown among the others where it is no text.
func TestAFieldThatIsNoTextIsShown(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]agent.Question{
		"a description": {Tool: "mcp__x__run", Input: json.RawMessage(`{"command":"ls","description":{"cwd":"evil"}}`)},
		"a plan":        {Tool: "ExitPlanMode", Input: json.RawMessage(`{"plan":["evil"]}`)},
		"half an edit":  {Tool: "Edit", Input: json.RawMessage(`{"file_path":"a","old_string":"b","new_string":["evil"]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			ask(t, r.desk(t), r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), "no")
			if shown := r.asked[0].Text; !strings.Contains(shown, "evil") {
				t.Errorf("the question is:\n%s", shown)
			}
		})
	}
}
