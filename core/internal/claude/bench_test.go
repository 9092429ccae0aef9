package claude_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// BenchmarkRun is a turn of the stub: what the runner and the pipes cost, and with a process for each turn its start.
func BenchmarkRun(b *testing.B) {
	for name, oneShot := range map[string]bool{"persistent": false, "oneshot": true} {
		b.Run(name, func(b *testing.B) {
			home := b.TempDir()
			pool, err := claude.New(claude.Config{
				Agents: map[string]cli.Options{"": {
					Command: binary, Workspace: b.TempDir(), RunDir: home,
					Env: map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": home},
				}}, OneShot: oneShot,
			}, hclog.NewNullLogger(), newRecords())
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close(b.Context())
			session := uuid.NewString()
			turn := 0
			for b.Loop() {
				turn++
				t := agent.Turn{Session: session, Started: turn > 1, UUID: uuid.NewString(), Prompt: fmt.Sprintf("[Bob] %d", turn)}
				if _, err := pool.Run(b.Context(), t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
