package permission

import (
	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// purpose tells people why they are asked in a turn that nobody has asked for.
func purpose(of domain.Origin) string {
	switch of {
	case domain.OriginFlush:
		return wording.AskedForMemories
	case domain.OriginHeartbeat:
		return wording.AskedForHeartbeat
	default:
		return ""
	}
}

// unasked is what claude is told where people are not asked, or nil where they are. A memory flush may need leave to write, and
// nothing else of anybody: who wrote before it wants to have something kept, not to be interviewed.
func unasked(m domain.Message, leave bool) *agent.Decision {
	switch {
	case m.Silent:
		return &agent.Decision{Message: "Nobody can be asked, because nothing of this turn is sent to the chat. Go on without it."}
	case m.Origin == domain.OriginFlush && !leave:
		return &agent.Decision{Message: "Nobody is asked, because nobody has asked for this turn. Decide yourself what is worth keeping."}
	default:
		return nil
	}
}
