package transcript

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Lines of a transcript of the CLI 2.1.331, shortened: a turn that a kill has divided, one of subagents, and one without changes.
const (
	first = `{"type":"user","isSidechain":false,"promptSource":"sdk","uuid":"m1","message":{"role":"user","content":"write"}}
{"type":"assistant","isSidechain":false,"uuid":"a1","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{}}],"stop_reason":"tool_use"}}
{"type":"user","isSidechain":false,"uuid":"r1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"created"}]},"toolUseResult":{"type":"create","filePath":"/w/a","content":"1\n2\n","structuredPatch":[]}}
{"type":"assistant","isSidechain":true,"uuid":"s1","message":{"role":"assistant","content":[{"type":"tool_use","id":"t9","name":"Write","input":{}}],"stop_reason":"tool_use"}}
{"type":"user","isSidechain":true,"uuid":"s2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9","content":"created"}]},"toolUseResult":{"type":"create","filePath":"/w/s","content":"1\n","structuredPatch":[]}}
`
	goesOn = `{"type":"user","isSidechain":false,"promptSource":"sdk","uuid":"CONTINUE","message":{"role":"user","content":"TEXT"}}
`
	second = `{"type":"assistant","isSidechain":false,"uuid":"a2","message":{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{}}],"stop_reason":"tool_use"}}
{"type":"user","isSidechain":false,"uuid":"r2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"updated"}]},"toolUseResult":{"filePath":"/w/a","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":["-1","+one"," 2"]}]}}
{"type":"assistant","isSidechain":false,"uuid":"a3","message":{"role":"assistant","content":[{"type":"tool_use","id":"t3","name":"mcp__x__y","input":{}},{"type":"tool_use","id":"t4","name":"Write","input":{}}],"stop_reason":"tool_use"}}
{"type":"user","isSidechain":false,"uuid":"r3","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"x"}]},"toolUseResult":{"type":"create","filePath":"/w/forged","content":"1\n","structuredPatch":[]}}
{"type":"user","isSidechain":false,"uuid":"r4","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4","content":"no","is_error":true}]},"toolUseResult":"Error: no"}
{"type":"assistant","isSidechain":false,"uuid":"a4","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}}
`
	agents = `{"type":"user","isSidechain":false,"promptSource":"sdk","uuid":"m2","message":{"role":"user","content":"delegate"}}
{"type":"assistant","isSidechain":false,"uuid":"a5","message":{"role":"assistant","content":[{"type":"tool_use","id":"t5","name":"Agent","input":{}}],"stop_reason":"tool_use"}}
{"type":"user","isSidechain":false,"uuid":"r5","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t5","content":"ok"}]},"toolUseResult":{"status":"completed","toolStats":{"editFileCount":1}}}
{"type":"assistant","isSidechain":false,"uuid":"a6","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}}
`
	thanks = `{"type":"user","isSidechain":false,"promptSource":"sdk","uuid":"m3","message":{"role":"user","content":"thanks"}}
{"type":"assistant","isSidechain":false,"uuid":"a7","message":{"role":"assistant","content":[{"type":"text","text":"welcome"}],"stop_reason":"end_turn"}}
`
)

func TestLastChanges(t *testing.T) {
	t.Parallel()
	divided := first + strings.NewReplacer("CONTINUE", ContinueID("m1", 1), "TEXT", strings.ReplaceAll(ContinueText(0), "\n", `\n`)).Replace(goesOn) + second
	for name, tt := range map[string]struct {
		lines, message string
		changes        int
		delegated      bool
	}{
		"nothing":               {"", "", 0, false},
		"without changes":       {thanks, "", 0, false},
		"one turn":              {first, "m1", 1, false},
		"divided by a kill":     {divided, "m1", 2, false},
		"before others":         {divided + thanks, "m1", 2, false},
		"before subagents":      {divided + agents + thanks, "m1", 2, true},
		"only of subagents":     {thanks + agents, "", 0, true},
		"with a torn last line": {first + second[:100], "m1", 1, false},
	} {
		got, err := lastChanges(strings.NewReader(tt.lines))
		if err != nil || got.Message != tt.message || len(got.Changes) != tt.changes || got.Delegated != tt.delegated || got.Cut {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	found, err := recall(strings.NewReader(divided+thanks), "m1")
	if err != nil || found.Status != Answered || len(found.Changes.Files) != 1 || found.Changes.Added != 3 || found.Changes.Removed != 1 {
		t.Errorf("recalled %+v, %v", found, err)
	}
	if found, err := recall(strings.NewReader(divided+agents), "m2"); err != nil || !found.Changes.Delegated || len(found.Changes.Files) != 0 {
		t.Errorf("recalled %+v, %v", found, err)
	}
}

// What is kept of large changes is bounded; which files they are of is known.
func TestLastChangesAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.ReplaceAll(first, `1\n2\n`, strings.Repeat("x", maxChanges+1))
	got, err := lastChanges(strings.NewReader(large))
	if err != nil || !got.Cut || len(got.Changes) != 1 || got.Changes[0].Path != "/w/a" || got.Changes[0].Hunks != nil {
		t.Errorf("cut: %v, %d changes, %v", got.Cut, len(got.Changes), err)
	}
	var many agent.Changes
	many.Join(agent.Changes{Files: []string{"a", "b"}, Added: 1})
	many.Join(agent.Changes{Files: []string{"b", "c"}, Removed: 2, Delegated: true})
	if len(many.Files) != 3 || many.Added != 1 || many.Removed != 2 || !many.Delegated || !many.Some() {
		t.Errorf("joined: %+v", many)
	}
}
