package exchange

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// What tools report of files is counted if it succeeds, once for a file. Of subagents it is known that they have changed some.
// Behaviour: changes.
func TestChanges(t *testing.T) {
	t.Parallel()
	use := func(parent, id, name string) string {
		return `{"type":"assistant","parent_tool_use_id":` + parent + `,"message":{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}]}}`
	}
	result := func(parent, id, failed, reported string) string {
		return `{"type":"user","parent_tool_use_id":` + parent + `,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"x","is_error":` + failed + `}]},"tool_use_result":` + reported + `}`
	}
	const created = `{"type":"create","filePath":"/w/a","content":"1\n2\n","structuredPatch":[]}`
	const refused = `{"status":"completed","toolStats":{"editFileCount":1,"linesAdded":2}}`
	for name, tt := range map[string]struct {
		lines []string
		want  agent.Changes
	}{
		"twice the same": {
			[]string{
				use("null", "t1", "Write"), result("null", "t1", "false", created),
				use("null", "t2", "Edit"), result("null", "t2", "false", `{"filePath":"/w/a","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-1","+one"]}]}`),
			},
			agent.Changes{Files: []string{"/w/a"}, Added: 3, Removed: 1},
		},
		"refused":                       {[]string{use("null", "t1", "Write"), result("null", "t1", "true", `"Error: no"`)}, agent.Changes{}},
		"another tool":                  {[]string{use("null", "t1", "mcp__x__y"), result("null", "t1", "false", created)}, agent.Changes{}},
		"without a use":                 {[]string{result("null", "t1", "false", created)}, agent.Changes{}},
		"a subagent":                    {[]string{use("null", "t1", "Agent"), use(`"t1"`, "t2", "Write"), result(`"t1"`, "t2", "false", "null"), result("null", "t1", "false", refused)}, agent.Changes{Delegated: true}},
		"a subagent that was refused":   {[]string{use("null", "t1", "Agent"), use(`"t1"`, "t2", "Write"), result(`"t1"`, "t2", "true", "null"), result("null", "t1", "false", refused)}, agent.Changes{}},
		"a subagent that runs commands": {[]string{use("null", "t1", "Agent"), use(`"t1"`, "t2", "Bash"), result(`"t1"`, "t2", "false", "null"), result("null", "t1", "false", `{}`)}, agent.Changes{}},
	} {
		x := New("m1")
		for _, line := range tt.lines {
			e, err := protocol.Parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			x.Observe(e)
		}
		if diff := cmp.Diff(tt.want, x.Outcome().Changes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
