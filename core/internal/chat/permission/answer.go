package permission

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Answer takes a person's answer to a question: a number, a word such as once or no, or for a choice their own words.
// It returns the reply to them, which is empty if the question's message shows it. known is false for an unknown id.
func (d *Approvals) Answer(ctx context.Context, caller chat.Caller, id, answer string) (reply string, known bool, err error) {
	row, err := d.options.Store.Question(ctx, id)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	reply, err = d.take(ctx, read(row), caller, answer, nil)
	crashpoint.Pass("answered") // The answer is durable, Claude may not have it yet.
	return reply, true, err
}

// Hear takes a message as the answer that [Asked.Answer] found in it. It returns the reply to its writer, if not
// empty. Words that come too late become an ordinary message. The same message is taken once.
func (d *Approvals) Hear(ctx context.Context, id, answer string, w Written) (string, error) {
	row, err := d.options.Store.Question(ctx, id)
	switch {
	case errors.Is(err, domain.ErrNotFound): // it was closed long ago
		row = domain.Question{Session: w.Caller.Session}
	case err != nil:
		return "", err
	}
	q := read(row)
	// What was meant for an MCP server does not become a message to Claude.
	w.Words = q.body.About == wording.AboutChoice || q.body.Form == nil && strings.HasPrefix(answer, "no ")
	reply, err := d.take(ctx, q, w.Caller, answer, &w)
	crashpoint.Pass("answered") // As in Answer.
	return reply, err
}

// take takes an answer, given by a command or by a plain message.
func (d *Approvals) take(ctx context.Context, q question, caller chat.Caller, answer string, plain *Written) (reply string, err error) {
	switch {
	case q.row.State != domain.QuestionOpen:
		return d.tooLate(ctx, q, caller, plain)
	case !q.readable():
		d.log.Warn("a question cannot be read", "question", q.row.ID)
		return wording.QuestionUnreadable, nil
	case !d.mayAnswer(q, caller):
		return wording.QuestionForOwners, nil
	}
	e := q.effect(caller, answer)
	switch {
	case e.reply != "":
		return e.reply, nil
	case e.reason:
		return wording.QuestionWhyNot, d.awaitReason(ctx, q, place{nameOf(caller), caller.Address})
	case e.offer != "":
		return d.resume(ctx, q, caller, e.offer)
	}
	e.verdict.Plain = plain
	row, settled, err := d.settle(ctx, q, caller, e)
	if err == nil && !settled {
		return d.tooLate(ctx, read(row), caller, plain)
	}
	return "", err
}

// settle answers a question, unless it is no longer open. It returns the question as it is then, and whether this call has answered it.
func (d *Approvals) settle(ctx context.Context, q question, caller chat.Caller, e effect) (row domain.Question, settled bool, err error) {
	encoded, err := json.Marshal(e.verdict)
	if err != nil {
		return row, false, err
	}
	row, settled, err = d.options.Store.Settle(ctx, q.row.ID, domain.QuestionAnswered, encoded, e.said, e.grants...)
	if settled {
		d.log.Info("a question was answered", "question", row.ID, "session", row.Session, "about", q.subject(),
			"allowed", e.verdict.Allow, "lasts", lasting(e.grants), "by", nameOf(caller))
	}
	return row, settled, err
}

// awaitReason makes the person's next message the reason for their refusal, unless the question has been answered. The chat
// says so, so it is durable.
func (d *Approvals) awaitReason(ctx context.Context, q question, of place) error {
	for q.row.State == domain.QuestionOpen {
		q.body.Reasons = slices.DeleteFunc(q.body.Reasons, func(p pendingReason) bool { return p.place == of })
		q.body.Reasons = append(q.body.Reasons, pendingReason{of, time.Now()})
		encoded, err := json.Marshal(q.body)
		if err != nil {
			return err
		}
		if redrafted, err := d.options.Store.Redraft(ctx, q.row.ID, q.row.Body, encoded); err != nil || redrafted {
			return err
		}
		row, err := d.options.Store.Question(ctx, q.row.ID) // another person changed it in the meantime
		if err != nil {
			return err
		}
		q = read(row)
	}
	return nil
}

// tooLate handles an answer to a closed question. Who might have answered learns who has.
func (d *Approvals) tooLate(ctx context.Context, q question, caller chat.Caller, plain *Written) (reply string, err error) {
	closed := wording.QuestionClosed
	if answered(q.row) && q.row.Outcome != "" && d.mayAnswer(q, caller) {
		closed = wording.QuestionClosedAs(q.row.Outcome)
	}
	if plain == nil {
		return closed, nil
	}
	if v, err := readVerdict(q.row.Answer); err == nil && v.Plain != nil && v.Plain.ID == plain.ID {
		return "", nil // the host ended between the answer and its completion
	}
	if !plain.Words {
		return closed, nil
	}
	if err := d.tell(ctx, q.row.Session, plain); err != nil {
		return "", err
	}
	return wording.QuestionClosedTold, nil
}

// tell passes a message on as an ordinary one.
func (d *Approvals) tell(ctx context.Context, session string, w *Written) error {
	return d.options.Intake.Tell(ctx, domain.KeyLateAnswer.Of(w.ID), session, w.Caller, w.Text)
}
