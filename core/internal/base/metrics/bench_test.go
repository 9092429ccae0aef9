package metrics_test

import (
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/sdk/chat"
)

// BenchmarkMessage counts what a message causes: docs/observability.md has the figure.
func BenchmarkMessage(b *testing.B) {
	for name, m := range map[string]*metrics.Metrics{"off": nil, "on": metrics.New(metrics.Labels{Plugins: []string{"telegram"}, Agents: []string{"main"}})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Message("telegram", chat.Accepted, nil)
				m.Begun("main", time.Millisecond, "")
				m.FirstWord("main", time.Millisecond, "")
				m.Turn(metrics.Turn{Agent: "main", Outcome: domain.RunDone, Took: time.Second, Since: time.Second})
				m.Used("opus", domain.Usage{InputTokens: 1, OutputTokens: 1, CostMicros: 1})
				m.Hook("telegram", time.Millisecond, false)
				m.Tool("telegram", time.Millisecond, false)
				m.Sent("telegram", time.Millisecond, "")
				m.Delivery("telegram", metrics.Delivered, time.Second, "")
				for range 8 {
					m.Commit(time.Millisecond)
				}
			}
		})
	}
}
