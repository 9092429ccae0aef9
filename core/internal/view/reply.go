package view

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Reply implements [turn.View].
func (v *view) Reply(ctx context.Context, r agent.Result) (turn.Reply, error) {
	m := v.run.Head.Message
	if m.Origin == domain.OriginCompact {
		return turn.Reply{Items: v.run.Notice(reply.Compacted(r))}, nil
	}
	if v.run.Visible == "tool" {
		return turn.Reply{Items: v.private()}, nil
	}
	said := answer.Parse(r.Text, true)
	if m.Origin == domain.OriginHeartbeat {
		said = reply.Heartbeat(r.Text)
	}
	files, err := v.files(ctx, said, r.Before)
	if err != nil {
		return turn.Reply{}, err
	}
	return turn.Reply{Items: append(v.items(said, r, files), files.behind...), Files: files.dealt}, nil
}

// private makes the items of an answer that is not sent: of what was sent of it before the config said so.
func (v *view) private() []domain.OutboxItem {
	if !v.outcome.Begun {
		return nil
	}
	return v.options.Items(answer.Answer{}, v.outcome, stream.Beside{})
}

// items makes the items of an answer: a summary of its work if the session wants it, then the text with its files. A
// silent text makes none, an empty one a sentence that says so.
func (v *view) items(said answer.Answer, r agent.Result, files files) []domain.OutboxItem {
	m := v.run.Head.Message
	switch sent := v.sent.has(said.Text, true); {
	case (said.Silent || sent) && v.outcome.Begun:
		return v.options.Items(answer.Answer{}, v.outcome, stream.Beside{}) // what was said before
	case said.Silent, sent:
		return nil
	case said.Text == "" && (len(files.behind) > 0 || files.before):
		return v.options.Items(said, v.outcome, stream.Beside{})
	case said.Text == "" && (m.Chat.Kind != chat.Direct || m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat):
		if !v.outcome.Begun {
			return nil // nobody waits for it
		}
		return v.options.Items(said, v.outcome, stream.Beside{})
	case said.Text == "" && len(v.outcome.Whole) == 0:
		said.Text = wording.EmptyAnswer
	}
	if v.run.Reasoning == "on" && r.Reasoning != "" {
		v.outcome.Before = append(v.outcome.Before, wording.Reasoning(r.Reasoning))
	}
	var heads []string
	if (agent.Profile{PermissionMode: v.run.PermissionMode}).SkipsApproval() && m.Origin == domain.OriginHeartbeat {
		heads = append(heads, turn.BypassNotice(m))
	}
	if r.Continued && !v.outcome.Begun {
		heads = append(heads, wording.Continued)
	}
	if v.run.Verbose == "on" || v.run.Verbose == "full" {
		heads = append(heads, v.conversation(r)...)
	}
	// Once, until another model answers: the chosen model is tried again in each turn.
	if line := reply.Fallback(r.Fallback); line != "" && r.Model != v.run.Session.Model {
		heads = append(heads, line)
	}
	return v.options.Items(said, v.outcome, stream.Beside{Head: strings.Join(heads, "\n\n"), Tail: reply.Usage(r, v.run.Usage), Files: files.within})
}

// conversation says what has happened to the conversation in which the turn ran: what Claude no longer knows.
func (v *view) conversation(r agent.Result) (lines []string) {
	// A session that expires gets a new conversation when its next message is accepted.
	if s := v.run.Session; s.ResetAt.After(s.CreatedAt) && s.ResetAt.Equal(v.run.Head.ReceivedAt) && !v.run.Head.Message.Fresh {
		lines = append(lines, wording.BeganExpired)
	}
	if r.Compactions > 0 {
		lines = append(lines, wording.CompactedFirst)
	}
	return lines
}
