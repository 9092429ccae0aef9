package exchange

import "github.com/clawhost/clawhost/core/internal/claude/protocol"

// Meter records a process's usage by its own count.
type Meter struct {
	total map[string]protocol.ModelUsage
}

// Count handles a result, and adds the figures of its own turn if the CLI did not report them.
func (m *Meter) Count(e *protocol.Event) {
	if e.SinceLast == nil {
		e.SinceLast = map[string]protocol.ModelUsage{}
		for name, now := range e.ModelUsage {
			before := m.total[name]
			now.InputTokens -= before.InputTokens
			now.OutputTokens -= before.OutputTokens
			now.CacheRead -= before.CacheRead
			now.CacheCreation -= before.CacheCreation
			now.CostUSD -= before.CostUSD
			e.SinceLast[name] = now
		}
	}
	if e.ModelUsage != nil {
		m.total = e.ModelUsage
	}
}
