package media

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/budget"
)

// complaints logs problems of files and addresses, at a limited rate, because other people determine how many there are.
type complaints struct {
	log    hclog.Logger
	budget budget.Budget
}

func (c *complaints) warn(text string, args ...any) {
	bytes := len(text)
	for _, a := range args {
		bytes += len(fmt.Sprint(a))
	}
	logs, missing := c.budget.Take(bytes)
	if missing > 0 {
		c.log.Warn("too many warnings about files and pages: lines are suppressed", "lines", missing)
	}
	if logs {
		c.log.Warn(text, args...)
	}
}
