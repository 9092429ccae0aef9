package turn

import (
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// Failed is the notice of a turn that failed for good.
func Failed(c agent.Class) string { return failed(c, time.Time{}, time.UTC) }

// Undelivered is the notice of messages that did not arrive.
var Undelivered = undelivered
