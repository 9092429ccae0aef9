package permission

import (
	"context"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ClosedError is the error for an answer to a question that is no longer open. Its text is for people.
type ClosedError struct {
	Answered bool   // somebody has answered it
	Outcome  string // what its messages say of that
}

// Error implements error.
func (e *ClosedError) Error() string {
	if e.Answered {
		return strings.TrimSuffix("this question has already been answered; the first answer counts: "+oneLine(e.Outcome), ": ")
	}
	return "this question is closed: nobody waits for an answer any more"
}

// UnfitError is the error for an answer that the question does not take. Its text is for people.
type UnfitError struct {
	takes []string
}

// Error implements error.
func (e *UnfitError) Error() string {
	return fmt.Sprintf("the question does not take this answer; it takes %s", strings.Join(e.takes, ", "))
}

// operator is the caller for an operator, who answers outside of the chats. By is how, such as "the state page".
func operator(by string) chat.Caller {
	return chat.Caller{Authority: chat.Owner, Sender: chat.Sender{ID: chat.UserID(by), DisplayName: wording.Operator(by)}}
}

// isOperator reports whether a caller is an [operator].
func isOperator(c chat.Caller) bool { return c.Address.Channel == "" }

// Decide takes an operator's answer to a question, as [Approvals.Answer] does a person's, except that a reason for a no follows the word
// at once. By is how the operator gives it, such as "the state page". The error is [domain.ErrNotFound] for an unknown id, a
// [*ClosedError], or an [*UnfitError].
func (d *Approvals) Decide(ctx context.Context, by, id, answer string) error {
	row, err := d.options.Store.Question(ctx, id)
	if err != nil {
		return err
	}
	q, caller := read(row), operator(by)
	if row.State != domain.QuestionOpen {
		return closed(row)
	}
	if !q.readable() {
		return fmt.Errorf("question %s cannot be read: another version of the host has asked it", id)
	}
	switch e := q.effect(caller, answer); {
	case e.reply != "" || e.reason:
		return &UnfitError{q.body.takes()}
	case e.offer != "":
		late, err := d.resume(ctx, q, caller, e.offer)
		if err == nil && late != "" {
			return d.closed(ctx, id)
		}
		return err
	default:
		row, settled, err := d.settle(ctx, q, caller, e)
		if err == nil && !settled {
			return closed(row)
		}
		return err
	}
}

// decidable are the answers of a question for an operator.
func (b body) decidable() []Option {
	var list []Option
	for i, o := range b.options() {
		option := Option{Word: o.word, Label: o.label, Help: o.help}
		if b.About == wording.AboutChoice {
			option.Help = b.Details[i]
		}
		if o.word != askWhy {
			list = append(list, option)
		}
	}
	return list
}

// takes describes what [Approvals.Decide] takes as an answer.
func (b body) takes() []string {
	var list []string
	for _, o := range b.decidable() {
		list = append(list, o.Word)
	}
	switch b.About {
	case wording.AboutChoice:
		list = append(list, "your own words")
	case wording.AboutForm:
		if f := b.Form.Field; f != nil && f.takes() != "" {
			list = append(list, f.takes())
		}
	case wording.AboutTool, wording.AboutPlan:
		list = append(list, "no with a reason behind it")
	case wording.AboutResume:
	}
	return list
}

// closed is the error for a question that is not open.
func closed(row domain.Question) error {
	return &ClosedError{Answered: answered(row), Outcome: row.Outcome}
}

// answered reports whether somebody has answered a question.
func answered(row domain.Question) bool {
	return row.State == domain.QuestionAnswered || row.State == domain.QuestionTaken
}

// closed reads a question again, and returns the error for it.
func (d *Approvals) closed(ctx context.Context, id string) error {
	row, err := d.options.Store.Question(ctx, id)
	if err != nil {
		return err
	}
	return closed(row)
}
