package permission

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// leave returns why nobody waits for an answer any more. A question that is of no use any more is retired; one that was cut off,
// as by the host's end, stays open: the same may be asked again.
func (d *Approvals) leave(ctx context.Context, row domain.Question) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, agent.ErrWithdrawn) || errors.Is(cause, domain.ErrFenced) {
		b := d.bodyOf(row)
		d.retire(context.WithoutCancel(ctx), question{row: row, body: b}, domain.QuestionWithdrawn, wording.QuestionWithdrawn(b.what()))
	}
	return cause
}

// askedBy says which run asks a question now.
func (d *Approvals) askedBy(row domain.Question, run int64) {
	if row.State == domain.QuestionOpen {
		d.opened(row, run)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, of := range []map[string]question{d.open, d.given} {
		if q, ok := of[row.ID]; ok {
			q.run = run
			of[row.ID] = q
		}
	}
}

// End retires what a session asked until a run and does not need to know any more: the run is over. An answer that it did not
// take is void, so that no later turn finds leave that was given to this one. One in words is told as a message, unless somebody
// stopped the run. What the session's next run, which may have begun by then, asks is none of this.
func (d *Approvals) End(ctx context.Context, session string, run int64, stopped bool) {
	d.end(ctx, stopped, func(q question) bool { return q.row.Session == session && q.run <= run })
}

func (d *Approvals) end(ctx context.Context, stopped bool, which func(question) bool) {
	d.mu.Lock()
	open := ofTurns(d.open, which)
	d.mu.Unlock()
	for _, q := range open {
		d.retire(ctx, q, domain.QuestionWithdrawn, wording.QuestionWithdrawn(q.body.what()))
	}
	d.mu.Lock()
	given := ofTurns(d.given, which) // also what was answered in this moment
	d.mu.Unlock()
	for _, q := range given {
		said := wording.AnswerTooLate(q.body.what())
		if v, err := readVerdict(q.row.Answer); err == nil && v.Plain.speaks() && !stopped {
			// First, so that a crash behind it loses nothing: the same id tells it once.
			if err := d.tell(ctx, q.row.Session, v.Plain); err != nil {
				d.log.Error("what somebody answered is not told", "question", q.row.ID, "error", err)
				continue
			}
			said = wording.AnswerTooLateTold(q.body.what())
		}
		d.retire(ctx, q, domain.QuestionVoid, said)
	}
}

// Recover retires what the previous process asked for turns that it has completed, or in conversations that it has left. It
// is called once, before turns run.
func (d *Approvals) Recover(ctx context.Context) error {
	type conversation struct{ session, claude string }
	asked := map[conversation]bool{}
	d.mu.Lock()
	for _, of := range []map[string]question{d.open, d.given} {
		for _, q := range of {
			asked[conversation{q.row.Session, q.row.ClaudeSession}] = true
		}
	}
	d.mu.Unlock()
	for c := range asked {
		unfinished, err := d.options.Store.Unfinished(ctx, c.session, c.claude)
		if err != nil {
			return err
		}
		if !unfinished {
			d.end(ctx, false, func(q question) bool { return c == conversation{q.row.Session, q.row.ClaudeSession} })
		}
	}
	return nil
}

func (d *Approvals) retire(ctx context.Context, q question, as domain.QuestionState, said string) {
	if _, _, err := d.settle(ctx, q.row.ID, as, verdict{}, said); err != nil {
		d.log.Warn("a question could not be retired", "question", q.row.ID, "error", err)
	}
}

// ofTurns returns such of the questions as turns wait for.
func ofTurns(all map[string]question, which func(question) bool) []question {
	var list []question
	for _, q := range all {
		if which(q) && q.body.About != wording.AboutResume {
			list = append(list, q)
		}
	}
	return list
}

// undelivered is what a turn is told whose question could not be.
var undelivered = verdict{Said: "The question could not be delivered, so nobody has answered it."}

// Undelivered has the turn go on, with no for an answer, that waits for a question whose message was given up. The store has ended the
// question by then.
func (d *Approvals) Undelivered(item int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, q := range d.open {
		if q.row.Item != item {
			continue
		}
		delete(d.open, id)
		if waiter := d.waiters[id]; waiter != nil {
			waiter <- undelivered // there is room: nobody can have answered it
		}
	}
}
