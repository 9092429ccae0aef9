package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// longestLimit is how far the end of a usage limit may be: the longest one that Claude Code has lasts a week.
	longestLimit = 8 * 24 * time.Hour
	// afterLimit is the pause between the end of a limit and the next try, because the clocks may differ.
	afterLimit = 5 * time.Second
	// shortLimit is the longest limit that every turn waits for.
	shortLimit = time.Minute
	// lateLimit is for how long a limit may still be reported after its end; it is tried again each minute.
	lateLimit = 10 * time.Minute
)

// awaitLimit holds a run until the end of a usage limit, and counts what it has cost. It reports false if the run fails
// instead: the config says so, it is not known when the limit ends, or no one waits for the answer.
func (h *Handler) awaitLimit(ctx context.Context, run *conversation.Run, r agent.Result, f *agent.Failure) (*agent.HeldError, bool) {
	m, now := run.Head.Message, time.Now()
	left := f.ResetsAt.Sub(now)
	awaited := m.Origin.Awaited()
	switch {
	case f.ResetsAt.IsZero(), left > longestLimit, left < -lateLimit:
		return nil, false
	case left > shortLimit && (!awaited || h.options.Conversations.Config().Limits.OnUsageLimit == "fail"):
		return nil, false
	}
	wait := left + afterLimit
	if left <= 0 {
		wait = time.Minute
	}
	figures := h.figures(run, r)
	figures.Flush = false
	h.spent(ctx, run, figures)
	until := f.ResetsAt.In(run.Zone)
	h.log.Warn("a turn waits for the end of a usage limit", "session", run.Session.Key, "run", run.ID, "until", f.ResetsAt.UTC().Format(time.RFC3339))
	held := &agent.HeldError{Wait: wait, Firm: true, Err: f, Why: wording.UsageLimit(until, now)}
	if awaited {
		held.Notice = h.limitNotice(run, wording.WaitsForLimit(until, now))
	}
	if h.options.Owners != nil && !run.Owned && left > shortLimit {
		h.options.Owners.Tell(domain.KeyUsageLimit.Of(f.ResetsAt.Unix()), wording.LimitReachedUntil(until, now))
	}
	return held, true
}

// limitNotice makes the notice that a run's message waits, with buttons if the config wants them and the channel has them; nil
// for a silent turn. If no button is pressed, the message is answered.
func (h *Handler) limitNotice(run *conversation.Run, text string) *domain.OutboxItem {
	items := h.notice(run, text)
	if len(items) == 0 {
		return nil
	}
	notice := &items[0]
	if run.Limits.Replies {
		notice.ReplyTo = run.Head.Message.ID
	}
	if h.options.Conversations.Config().Limits.OnUsageLimit != "ask" {
		return notice
	}
	row := []chat.Button{{Label: wording.LimitDrop, Data: fmt.Sprint("/withdraw ", run.Head.Number)}}
	if run.Head.Message.Authority >= chat.Authorised { // others may only withdraw their own messages
		row = append([]chat.Button{{Label: wording.LimitContinue, Data: fmt.Sprint("/next ", run.Head.Number)}}, row...)
	}
	if buttons := run.Limits.Buttons; buttons.Rows > 0 && buttons.Columns >= len(row) {
		notice.Buttons = [][]chat.Button{row}
	}
	return notice
}
