package core

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Behaviour: memory-flush.
func TestTheContextBudgetReachesClaude(t *testing.T) {
	t.Parallel()
	const name = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
	c := config.Claude{Env: map[string]string{"A": "b"}, ContextBudget: 100_000}
	if got := c.Environment(); got[name] != "100000" || got["A"] != "b" || len(c.Env) != 1 {
		t.Errorf("claude's environment has %v, the config's %v", got, c.Env)
	}
	if _, set := (config.Claude{}).Environment()[name]; set {
		t.Error("without a budget claude is told one")
	}
}
