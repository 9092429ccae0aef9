package wording

import (
	"fmt"
	"strings"
	"time"
)

// Answers of /subagents.
const (
	SubagentOptions          = "Options: stop NUMBER."
	NoSuchSubagent           = "No subagent with this number runs here. /subagents lists those that do."
	SubagentStopNotSupported = "This version of Claude Code cannot stop a single subagent. /stop ends the whole turn."
)

// Subagent is a subagent that runs.
type Subagent struct {
	Number int
	What   string // the model's words
	Agent  string // its type; may be empty
	Doing  string // its last step; empty: unknown
	For    time.Duration
}

// Subagents answers /subagents.
func Subagents(list []Subagent) string {
	if len(list) == 0 {
		return "No subagent runs here."
	}
	var b strings.Builder
	b.WriteString("**Subagents**\n")
	for _, s := range list {
		fmt.Fprintf(&b, "\n- %d: %s", s.Number, Code(or(s.What, s.Agent)))
		if s.Agent != "" && s.What != "" {
			fmt.Fprintf(&b, " (%s)", Code(s.Agent))
		}
		fmt.Fprintf(&b, ", for %s", age(s.For))
		if s.Doing != "" {
			fmt.Fprintf(&b, ": %s", Code(s.Doing))
		}
	}
	fmt.Fprintf(&b, "\n\n`/subagents stop %d` stops one; the turn goes on without it.", list[0].Number)
	return b.String()
}

// SubagentStopped confirms that a subagent was stopped.
func SubagentStopped(s Subagent) string {
	return fmt.Sprintf("Stopped %s. Claude was told, and the turn goes on.", Code(or(s.What, s.Agent)))
}
