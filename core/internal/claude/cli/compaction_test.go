package cli

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Behaviour: memory-flush.
func TestCompaction(t *testing.T) {
	t.Parallel()
	const reserve = 33_000
	type env = map[string]string
	for name, test := range map[string]struct {
		args   []string
		env    env
		window int64
		at     int64 // as get_context_usage of 2.1.330 reports it, or, with a percentage, autocompact_state
		off    bool
	}{
		"nothing":                   {window: 1_000_000, at: 967_000},
		"a small window":            {window: 200_000, at: 167_000},
		"a flag":                    {args: []string{"--autocompact", "120000"}, window: 1_000_000, at: 87_000},
		"a flag in one word":        {args: []string{"--x", "--autocompact=500k"}, window: 1_000_000, at: 467_000},
		"in thousands":              {args: []string{"--autocompact", "200"}, window: 1_000_000, at: 167_000},
		"in millions":               {args: []string{"--autocompact", "1m"}, window: 200_000, at: 167_000},
		"the last flag":             {args: []string{"--autocompact", "200", "--autocompact=150k"}, window: 1_000_000, at: 117_000},
		"automatic":                 {args: []string{"--autocompact", "auto"}, window: 1_000_000, at: 967_000},
		"no value":                  {args: []string{"--autocompact"}, window: 1_000_000, at: 967_000},
		"a variable":                {env: env{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000"}, window: 1_000_000, at: 117_000},
		"less than the CLI takes":   {env: env{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "50000"}, window: 1_000_000, at: 67_000},
		"no number":                 {env: env{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "much"}, window: 1_000_000, at: 967_000},
		"a variable before a flag":  {args: []string{"--autocompact", "300000"}, env: env{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}, window: 1_000_000, at: 67_000},
		"a percentage":              {env: env{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, window: 1_000_000, at: 490_000},
		"of a small window":         {env: env{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, window: 200_000, at: 90_000},
		"a percentage too large":    {env: env{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "99.9"}, window: 200_000, at: 167_000},
		"no percentage":             {env: env{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "120"}, window: 200_000, at: 167_000},
		"a percentage of a flag's":  {args: []string{"--autocompact=120k"}, env: env{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, window: 1_000_000, at: 50_000},
		"switched off":              {args: []string{"--autocompact=120k"}, env: env{"DISABLE_AUTO_COMPACT": "1", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, window: 200_000, at: 167_000, off: true},
		"switched off with manual":  {env: env{"DISABLE_COMPACT": "true"}, window: 200_000, at: 167_000, off: true},
		"not switched off, by zero": {env: env{"DISABLE_AUTO_COMPACT": "0", "DISABLE_COMPACT": ""}, window: 200_000, at: 167_000},
	} {
		c := Compaction(test.args, test.env)
		if got := c.At(test.window, reserve); got != test.at || c.Off != test.off {
			t.Errorf("%s: %+v, at %d, want %d", name, c, got, test.at)
		}
	}
	if got := (agent.Compaction{}).At(200_000, 50_000); got != 150_000 {
		t.Errorf("with a larger reserve it is at %d", got)
	}
}
