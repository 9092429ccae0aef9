package permission

import (
	"context"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// exactly begins the rule for one input of a tool. No rule of Claude Code begins with it.
const exactly = "="

// rules are what a longer permission grants: what claude suggests, or else exactly the same input.
func rules(q agent.Question) []string {
	if len(q.Suggested) == 0 || len(q.Suggested) > maxRules {
		return []string{exactly + digest(q, 0)}
	}
	return q.Suggested
}

// granted reports whether an earlier permission makes the question unnecessary.
func (d *Approvals) granted(ctx context.Context, run *conversation.Run, q agent.Question) (bool, error) {
	grants, err := d.options.Store.Grants(ctx, run.Session.Key)
	if err != nil {
		return false, err
	}
	grants = slices.DeleteFunc(grants, func(g domain.Grant) bool {
		return g.Authority != run.Caller.Authority || g.ClaudeSession != "" && g.ClaudeSession != run.Head.ClaudeSession
	})
	has := func(rule string) bool {
		return slices.ContainsFunc(grants, func(g domain.Grant) bool {
			return g.Rule == rule || strings.HasPrefix(rule, exactly) && strings.HasPrefix(g.Rule, rule+" ")
		})
	}
	for _, rule := range rules(q) {
		if !has(rule) && !has(exactly+digest(q, 0)) {
			return false, nil
		}
	}
	return true, nil
}

// lasting is how long an answer with these grants is valid, for the log.
func lasting(grants []domain.Grant) string {
	switch {
	case len(grants) == 0:
		return "once"
	case grants[0].ClaudeSession != "":
		return "session"
	default:
		return "always"
	}
}
