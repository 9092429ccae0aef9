// Package equip runs turns with the tools and the setup that there are when each begins.
package equip

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/project"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
)

// Options are the collaborators of a Claude.
type Options struct {
	Pool     *claude.Pool
	Tools    *tools.Server
	Projects map[string]*project.Folder // by the agent's label
	Demo     bool                       // a stand-in answers
}

// Claude is a pool that completes the profiles of turns.
type Claude struct {
	*claude.Pool
	options Options
}

// New returns a Claude.
func New(options Options) Claude { return Claude{options.Pool, options} }

// Run runs a turn as [claude.Pool.Run] does.
func (c Claude) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	result, err := c.Pool.Run(ctx, c.complete(ctx, t))
	if c.options.Demo { // nothing was used, and the usage of the real agent stays separate
		result.InputTokens, result.CacheTokens, result.OutputTokens, result.CostMicros = 0, 0, 0, 0
	}
	crashpoint.Pass("result") // Claude has answered, the answer is not durable yet
	return result, err
}

// Expect has the process of a turn started as [claude.Pool.Expect] does.
func (c Claude) Expect(ctx context.Context, t agent.Turn) { c.Pool.Expect(c.complete(ctx, t)) }

// Spare returns the claude session of a spare process as [claude.Pool.Spare] does.
func (c Claude) Spare(ctx context.Context, t agent.Turn) string {
	return c.Pool.Spare(c.complete(ctx, t))
}

// complete completes a turn's profile.
func (c Claude) complete(ctx context.Context, t agent.Turn) agent.Turn {
	setup := c.options.Projects[t.Agent].In(t.Folder, t.Worktree).Setup(ctx)
	t.Profile.Tools, t.Profile.Setup = c.options.Tools.Fingerprint(ctx), setup
	t.Profile.SystemPrompt += setup.Text()
	return t
}
