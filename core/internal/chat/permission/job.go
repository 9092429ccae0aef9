package permission

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// mayRunJob reports whether a use of the tool jobs needs no permission of people: only a command needs one, and it does not where the
// agent may use Bash with any command without asking. Rules for some commands are the CLI's to compare, which does not run the job: with
// them, people are asked.
func mayRunJob(run *conversation.Run, q agent.Question) bool {
	if _, runs := tools.RunsJob(q.Input); !runs {
		return true
	}
	rules := run.Agent.Claude
	if slices.ContainsFunc(rules.DisallowedTools, func(rule string) bool { return strings.HasPrefix(rule, "Bash") }) {
		return false
	}
	return agent.Profile{PermissionMode: run.PermissionMode}.SkipsApproval() ||
		slices.Contains(rules.AllowedTools, "Bash") || slices.Contains(rules.AllowedTools, "Bash(*)")
}

// called returns what people read as the name of a tool.
func called(tool string) string {
	if tool == tools.JobsTool {
		return "Job"
	}
	return tool
}
