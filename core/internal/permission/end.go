package permission

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// leave returns why nobody waits for an answer any more. It retires a question that is no longer useful; one that was
// interrupted, such as by the host's end, stays open, because it may be asked again.
func (d *Approvals) leave(ctx context.Context, row domain.Question) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, agent.ErrWithdrawn) || errors.Is(cause, domain.ErrFenced) {
		b := d.bodyOf(row)
		d.retire(context.WithoutCancel(ctx), question{row: row, body: b}, domain.QuestionWithdrawn, wording.QuestionWithdrawn(b.what()))
	}
	return cause
}

// askedBy records which run asks a question now.
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

// End retires a session's questions up to a completed run. Answers that the run did not take are void, so that no later
// turn gets a permission meant for this one. An answer in words becomes a message, unless the run was stopped.
// Questions of the next run, which may have begun, are not affected.
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
	given := ofTurns(d.given, which) // including those answered just now
	d.mu.Unlock()
	for _, q := range given {
		said := wording.AnswerTooLate(q.body.what())
		if v, err := readVerdict(q.row.Answer); err == nil && v.Plain.speaks() && !stopped {
			// First, so that a crash afterwards loses nothing: the same id is taken once.
			if err := d.tell(ctx, q.row.Session, v.Plain); err != nil {
				d.log.Error("cannot pass a late answer on to Claude", "question", q.row.ID, "error", err)
				continue
			}
			said = wording.AnswerTooLateTold(q.body.what())
		}
		d.retire(ctx, q, domain.QuestionVoid, said)
	}
}

// Recover retires the previous process's questions of turns that are completed, and of conversations that were left. It
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

// ofTurns returns those of the questions that turns wait for.
func ofTurns(all map[string]question, which func(question) bool) []question {
	var list []question
	for _, q := range all {
		if which(q) && q.body.About != wording.AboutResume {
			list = append(list, q)
		}
	}
	return list
}

// undelivered is the answer for a turn whose question could not be delivered.
var undelivered = verdict{Said: "The question could not be delivered, so nobody has answered it."}

// Undelivered lets the turn continue with no as the answer whose question's message was given up. The store has ended
// the question by then.
func (d *Approvals) Undelivered(item int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, q := range d.open {
		if q.row.Item != item {
			continue
		}
		delete(d.open, id)
		if waiter := d.waiters[id]; waiter != nil {
			waiter <- undelivered // never blocks: nobody can have answered it
		}
	}
}
