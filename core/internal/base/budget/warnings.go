package budget

import (
	"fmt"

	"github.com/hashicorp/go-hclog"
)

// Warnings logs at a limited rate what other people can cause any number of times. It is safe for concurrent use.
type Warnings struct {
	log    hclog.Logger
	about  string
	budget Budget
}

// NewWarnings returns warnings about something, such as "files and pages".
func NewWarnings(log hclog.Logger, about string) *Warnings { return &Warnings{log: log, about: about} }

// Warn logs a warning, unless there were too many. It also says how many are missing.
func (w *Warnings) Warn(text string, args ...any) {
	bytes := len(text)
	for _, a := range args {
		bytes += len(fmt.Sprint(a))
	}
	logs, missing := w.budget.Take(bytes)
	if missing > 0 {
		w.log.Warn("too many warnings about "+w.about+": lines are suppressed", "lines", missing)
	}
	if logs {
		w.log.Warn(text, args...)
	}
}
