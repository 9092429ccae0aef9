package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// whileBusy is the pause before a turn asks again whether it may begin, while the running turns may use up what is left of its
// budget.
const whileBusy = 2 * time.Second

var (
	errBusy   = errors.New("the running turns may use up a budget")
	errUsedUp = errors.New("a budget is used up")
)

// refuse keeps a turn from beginning, because a budget of it is used up. Its message waits until the budget's next period, or
// until an owner lifts the budget; or the run fails, if that is too far away, no one waits for the answer, or the messages of
// other people would wait behind it.
func (h *Handler) refuse(ctx context.Context, run *conversation.Run, b domain.Budget) error {
	m, now := run.Head.Message, time.Now()
	left := b.Until.Sub(now)
	h.log.Warn("a turn is refused, because a budget is used up", "session", run.Session.Key, "run", run.ID, "budget", b.Code,
		"per", b.Per, "until", b.Until.UTC().Format(time.RFC3339))
	awaited := m.Origin.Awaited()
	if h.options.Owners != nil && !(run.Owned && awaited) {
		h.options.Owners.Tell(domain.KeyBudget.Of(b.Code, b.Lift().Day), wording.BudgetUsedUp(b, now))
	}
	if awaited && left <= longestLimit && (b.Per != domain.PerPerson || ofOnePerson(run.Session.Key)) {
		held := &agent.HeldError{Wait: left, Firm: true, Lift: b.Lift(), Err: errUsedUp, Why: wording.BudgetFor(b, now)}
		rows, button := budgetButtons(run, b, true)
		if notice := h.budgetNotice(run, wording.BudgetWaits(b, button, now), rows); len(notice) > 0 {
			held.Notice = &notice[0]
		}
		return held
	}
	rows, button := budgetButtons(run, b, false)
	said := wording.BudgetRefuses(b, button, now)
	if m.Origin != domain.OriginFlush && m.Origin != domain.OriginHeartbeat {
		if notice := h.budgetNotice(run, said, rows); len(notice) > 0 {
			if _, err := h.options.Store.Post(ctx, domain.KeyBudget.Of(b.Code, b.Lift().Day, "in", run.Session.Key), notice...); err != nil {
				return fmt.Errorf("tell a chat that a budget is used up: %w", err)
			}
		}
	}
	return h.complete(ctx, run, domain.Completion{
		State: domain.RunFailed, Error: errUsedUp.Error(), Answer: said,
		Transcript: []chat.TranscriptEntry{{Role: chat.System, Text: said, At: now}},
	})
}

// ofOnePerson reports whether a session is the conversation of one person.
func ofOnePerson(key string) bool {
	n, err := session.Parse(key)
	return err == nil && (n.Identity != "" || n.User != "")
}

// budgetButtons returns the buttons that lift a budget, and drop the message if it waits. It reports false if the channel cannot
// show the first.
func budgetButtons(run *conversation.Run, b domain.Budget, waits bool) ([][]chat.Button, bool) {
	row := []chat.Button{{Label: wording.BudgetLift, Data: "/budget lift " + b.Code}}
	if waits && run.Limits.Buttons.Columns > 1 {
		row = append(row, chat.Button{Label: wording.LimitDrop, Data: fmt.Sprint("/withdraw ", run.Head.Number)})
	}
	if run.Limits.Buttons.Rows == 0 || run.Limits.Buttons.Columns == 0 {
		return nil, false
	}
	return [][]chat.Button{row}, true
}

// budgetNotice makes the notice that a budget is used up; none for a silent turn.
func (h *Handler) budgetNotice(run *conversation.Run, text string, rows [][]chat.Button) []domain.OutboxItem {
	items := h.notice(run, text)
	if len(items) > 0 {
		items[0].Buttons = rows
		if run.Limits.Replies {
			items[0].ReplyTo = run.Head.Message.ID
		}
	}
	return items
}
