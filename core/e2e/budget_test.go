//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A conversation is compacted 33,000 tokens before the configured budget is spent, although the model has space left, or where a
// flag or a variable of the CLI's says so, as the memory flush expects.
// Behaviour: context-budget, memory-flush.
func TestContextBudget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits    string
		claude    map[string]string
		compacted bool
	}{
		"of its own":   {limits: "  context_budget = 120000\n", compacted: true},
		"by a flag":    {limits: "  args = [\"--autocompact\", \"120k\"]\n", compacted: true},
		"by a share":   {claude: map[string]string{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "9"}, compacted: true},
		"switched off": {limits: "  context_budget = 120000\n", claude: map[string]string{"DISABLE_AUTO_COMPACT": "1"}},
		"the model's":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, setup{limits: test.limits, claude: test.claude, plugins: "memory_flush {\n  enabled = false\n}\n"})
			h.start()
			owner := h.owner()
			steps, err := json.Marshal([]messagesapi.Reply{{Text: "read", InputTokens: 95_000}})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				owner.say("a long story [[reply " + string(steps) + "]]")
				owner.hears("read")
			}
			owner.talks("and on")
			owner.say("/status")
			if got := owner.next().Text; strings.Contains(got, "never compacted") == test.compacted {
				t.Errorf("/status: %q", got)
			}
			h.stop()
		})
	}
}
