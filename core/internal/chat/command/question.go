package command

import (
	"context"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
)

// answer answers a question of claude's. The question decides who may.
func (d hostCommands) answer(ctx context.Context, call Call) (string, error) {
	word := firstWord(call.Args)
	id, ok := permission.ID(word)
	if !ok {
		return wording.WhichQuestion, nil
	}
	reply, known, err := d.host.Questions.Answer(ctx, call.Caller, id, strings.TrimSpace(call.Args[len(word):]))
	if err != nil || known {
		return reply, err
	}
	return wording.NoQuestion, nil
}

// verdict answers a question with yes or no if the command names one; otherwise the command is about a pairing request.
func (d hostCommands) verdict(ctx context.Context, call Call, standing string) (reply string, known bool, err error) {
	word := firstWord(call.Args)
	id, ok := permission.ID(word)
	if !ok || d.host.Plugins.Enabled(word) {
		return "", false, nil
	}
	rest := strings.TrimSpace(call.Args[len(word):])
	if standing == "no" {
		rest = strings.TrimSpace(standing + " " + rest)
	} else if rest == "" {
		rest = standing
	}
	reply, known, err = d.host.Questions.Answer(ctx, call.Caller, id, rest)
	if err == nil && !known {
		return wording.NoQuestion, true, nil
	}
	return reply, known, err
}

// grants lists the lasting permissions of the conversation, or revokes them.
func (d hostCommands) grants(ctx context.Context, call Call) (string, error) {
	held, err := d.store.Grants(ctx, call.Caller.Session)
	if err != nil {
		return "", err
	}
	words := strings.Fields(call.Args)
	switch {
	case len(words) == 0:
		return grantList(call, held), nil
	case len(words) == 1 && strings.EqualFold(words[0], "revoke"):
		return wording.GrantsNeedNumber, nil
	case len(words) != 2 || !strings.EqualFold(words[0], "revoke"):
		return wording.UnknownArgument("grants", call.Args, wording.GrantsOptions), nil
	case strings.EqualFold(words[1], "all"):
		n, err := d.store.Revoke(ctx, domain.Grant{Session: call.Caller.Session})
		if err != nil {
			return "", err
		}
		return wording.GrantsRevoked(n), nil
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 1 || n > len(held) {
		return wording.NoGrant(words[1]), nil
	}
	if _, err := d.store.Revoke(ctx, held[n-1]); err != nil {
		return "", err
	}
	return wording.GrantRevoked(held[n-1].Rule), nil
}

func grantList(call Call, held []domain.Grant) string {
	list := make([]wording.Grant, len(held))
	for i, g := range held {
		list[i] = wording.Grant{Rule: g.Rule, Audience: access.Audience(g.Authority), By: g.By}
		switch g.ClaudeSession {
		case "":
		case call.Session.ClaudeSession:
			list[i].Span = wording.GrantInConversation
		default:
			list[i].Span = wording.GrantOver
		}
	}
	return wording.Grants(list)
}
