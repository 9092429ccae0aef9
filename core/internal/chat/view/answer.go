package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Answer is what a chat gets of an answer.
type Answer struct {
	Items []domain.OutboxItem   // none when there is nothing to send
	Files []domain.OutgoingFile // used by the items
	Said  bool                  // the chat has something of the answer or gets it with the items, or the message is silent
}

// Answer returns the part of the answer that the chat does not have. It is called after End. An [*agent.Failure] means that its
// files cannot be stored now.
func (v *View) Answer(ctx context.Context, r agent.Result) (a Answer, err error) {
	switch m := v.run.Head.Message; {
	case m.Silent:
		return Answer{Said: true}, nil
	case m.Origin == domain.OriginCompact:
		a.Items = v.stream.Replace(v.run.Notice(compacted(r)))
	case v.run.Visible == "tool":
		a.Items = v.signed(v.begun(answer.Answer{}, stream.Rest{}))
	default:
		if a, err = v.answer(ctx, r); err != nil {
			return a, err
		}
		v.signed(a.Items)
	}
	shows := slices.ContainsFunc(a.Items, domain.OutboxItem.HasContent)
	if shows {
		v.see()
	}
	a.Said = v.stream.Begun() || shows
	return a, nil
}

// signed returns items of the run's agent.
func (v *View) signed(items []domain.OutboxItem) []domain.OutboxItem {
	return domain.SignedBy(v.run.Author, items)
}

// answer returns an answer with its files.
func (v *View) answer(ctx context.Context, r agent.Result) (Answer, error) {
	said := answer.Parse(r.Text, true)
	if v.run.Head.Message.Origin == domain.OriginHeartbeat {
		said = heartbeat(r.Text)
	}
	files, err := v.files(ctx, said, r.Before)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Items: v.items(said, r, files), Files: files.dealt}, nil
}

// items makes the items of an answer: a summary of its work if the session wants it, then the text with its files. A silent text
// makes none, an empty one a sentence that says so if a person waits for it.
func (v *View) items(said answer.Answer, r agent.Result, files files) []domain.OutboxItem {
	m, rest := v.run.Head.Message, stream.Rest{Behind: files.behind}
	awaited := m.Chat.Kind == chat.Direct && m.Origin != domain.OriginFlush && m.Origin != domain.OriginHeartbeat
	switch {
	case said.Silent || v.stream.ByTool(said.Text, true):
		return v.begun(answer.Answer{}, rest)
	case said.Text == "" && (len(files.behind) > 0 || files.before):
		return v.stream.Finish(said, rest)
	case said.Text == "" && !awaited:
		return v.begun(said, rest)
	case said.Text == "" && !v.stream.SentWhole():
		said.Text = wording.EmptyAnswer
	}
	if v.run.Reasoning == "on" && r.Reasoning != "" {
		rest.Before = []string{wording.Reasoning(r.Reasoning)}
	}
	rest.Head, rest.Tail, rest.Files = v.head(r), v.tail(r), files.within
	return v.stream.Finish(said, rest)
}

// begun finishes what was begun to be said; otherwise there are only the files.
func (v *View) begun(said answer.Answer, rest stream.Rest) []domain.OutboxItem {
	if !v.stream.Begun() {
		return v.stream.Replace(rest.Behind)
	}
	return v.stream.Finish(said, rest)
}

// head is what stands before an answer, about the turn.
func (v *View) head(r agent.Result) string {
	var heads []string
	if (agent.Profile{PermissionMode: v.run.PermissionMode}).SkipsApproval() && v.run.Head.Message.Origin == domain.OriginHeartbeat {
		heads = append(heads, v.run.NotAsking())
	}
	if r.Continued && !v.stream.Begun() {
		heads = append(heads, wording.Continued)
	}
	if v.run.Verbose == "on" || v.run.Verbose == "full" {
		heads = append(heads, v.conversation(r)...)
	}
	// Once, until another model answers: the chosen model is tried again in each turn.
	if line := fallback(r.Fallback); line != "" && r.Model != v.run.Session.Model {
		heads = append(heads, line)
	}
	return strings.Join(heads, "\n\n")
}

// tail is what stands behind an answer: what its turn has done, for those who may use commands, and what it cost.
func (v *View) tail(r agent.Result) string {
	var tails []string
	if v.run.Settings.Reply.Changes == "on" && v.run.Caller.Authority >= chat.Authorised {
		if line := v.did(r); line != "" {
			tails = append(tails, line)
		}
	}
	if line := usage(r, v.run.Usage); line != "" {
		tails = append(tails, line)
	}
	return strings.Join(tails, "\n\n")
}

// longTurn is how long a turn takes at least of which the chat is told what it has done.
const longTurn = time.Minute

// did says what a long turn has done, and any turn to files; empty: nothing of that. The time that people took to answer is left out.
func (v *View) did(r agent.Result) string {
	var changed *wording.Changed
	if r.Changes.Some() {
		changed = &wording.Changed{
			Files: len(r.Changes.Files), Added: r.Changes.Added, Removed: r.Changes.Removed, Delegated: r.Changes.Delegated,
			Owner: v.run.Caller.Authority == chat.Owner,
		}
	}
	took := time.Since(v.run.StartedAt) - v.stream.Waited()
	switch {
	case !v.run.StartedAt.IsZero() && took >= longTurn:
		return wording.Worked{
			For: took, Commands: r.Uses.Commands, Pages: r.Uses.Pages, Searches: r.Uses.Searches, Subagents: r.Uses.Subagents, Changed: changed,
		}.String()
	case changed != nil:
		return changed.String()
	default:
		return ""
	}
}

// conversation says what has happened to the conversation in which the turn ran: what Claude no longer knows.
func (v *View) conversation(r agent.Result) (lines []string) {
	// A session that expires gets a new conversation when its next message is accepted.
	if s := v.run.Session; s.ResetAt.After(s.CreatedAt) && s.ResetAt.Equal(v.run.Head.ReceivedAt) && !v.run.Head.Message.Fresh {
		lines = append(lines, wording.BeganExpired)
	}
	if r.Compactions > 0 {
		lines = append(lines, wording.CompactedFirst)
	}
	return lines
}
