package permission

import (
	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// purpose explains why people are asked in a turn that no person started.
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

// unattended is the answer for claude in turns that do not ask people, or nil if they do. A memory flush may ask for
// permission to write, and for nothing else: people want to have something saved, not to be interviewed.
func unattended(m domain.Message, leave bool) *agent.Decision {
	switch {
	case m.Silent:
		return &agent.Decision{Message: "Nobody can be asked, because nothing of this turn is sent to the chat. Go on without it."}
	case m.Origin == domain.OriginFlush && !leave:
		return &agent.Decision{Message: "Nobody is asked, because nobody has asked for this turn. Decide yourself what is worth keeping."}
	default:
		return nil
	}
}
