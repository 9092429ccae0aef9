package permission

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// End retires a session's questions up to a completed run. Answers that the run did not take are void, so that no later
// turn gets a permission meant for this one. An answer in words becomes a message, unless the run was stopped.
// Questions of the next run, which may have begun, are not affected.
func (d *Approvals) End(ctx context.Context, session string, run int64, stopped bool) {
	rows, err := d.options.Store.QuestionsOf(ctx, session)
	if err != nil {
		d.log.Error("the questions of a run could not be retired", "session", session, "run", run, "error", err)
	}
	for _, q := range readAll(rows) {
		if !d.waiters.awaited(session, q.row.Digest, run) {
			d.close(ctx, q, stopped)
		}
	}
}

// Recover retires the previous process's questions of turns that are completed, and of conversations that were left. It
// is called once, before turns run.
func (d *Approvals) Recover(ctx context.Context) error {
	rows, err := d.options.Store.Questions(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		q := read(row)
		if !q.readable() {
			d.log.Warn("a question cannot be read", "question", row.ID)
			continue
		}
		unfinished, err := d.options.Store.Unfinished(ctx, row.Session, row.ClaudeSession)
		if err != nil {
			return err
		}
		if !unfinished {
			d.close(ctx, q, false)
		}
	}
	return nil
}

// close withdraws a question that no turn waits for any more, or voids the answer that it got in the meantime. An offer
// is not affected: no turn waits for it.
func (d *Approvals) close(ctx context.Context, q question, stopped bool) {
	if q.body.About == wording.AboutResume {
		return
	}
	if q.row.State == domain.QuestionOpen {
		q.row = d.withdraw(ctx, q)
	}
	if q.row.State != domain.QuestionAnswered {
		return
	}
	said := wording.AnswerTooLate(q.body.what())
	if v, err := readVerdict(q.row.Answer); err == nil && v.Plain != nil && v.Plain.Words && !stopped {
		// First, so that a crash afterwards loses nothing: the same id is taken once.
		if err := d.tell(ctx, q.row.Session, v.Plain); err != nil {
			d.log.Error("cannot pass a late answer on to Claude", "question", q.row.ID, "error", err)
			return
		}
		said = wording.AnswerTooLateTold(q.body.what())
	}
	if _, _, err := d.retire(ctx, q, domain.QuestionVoid, said); err != nil {
		d.log.Warn("a question could not be retired", "question", q.row.ID, "error", err)
	}
}

// withdraw ends a question that needs no answer any more, and returns it as it is then.
func (d *Approvals) withdraw(ctx context.Context, q question) domain.Question {
	row, _, err := d.retire(ctx, q, domain.QuestionWithdrawn, wording.QuestionWithdrawn(q.body.what()))
	if err != nil {
		d.log.Warn("a question could not be retired", "question", q.row.ID, "error", err)
	}
	return row
}
