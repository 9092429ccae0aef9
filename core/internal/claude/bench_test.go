package claude_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// BenchmarkRun is a warm turn of the stub: what the runner and the pipes cost.
func BenchmarkRun(b *testing.B) {
	home := b.TempDir()
	pool, err := claude.New(claude.Config{
		Command: binary, Workspace: b.TempDir(), RunDir: home,
		Env: map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": home},
	}, hclog.NewNullLogger(), newRecords())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close(b.Context())
	session := uuid.NewString()
	turn := 0
	for b.Loop() {
		turn++
		t := agent.Turn{Session: session, Started: turn > 1, UUID: uuid.NewString(), Attempt: 1, Prompt: fmt.Sprintf("[Bob] %d", turn)}
		if _, err := pool.Run(b.Context(), t); err != nil {
			b.Fatal(err)
		}
	}
}
