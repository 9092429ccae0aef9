package permission

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// offerLife is how long an offer is valid.
const offerLife = 24 * time.Hour

// Offer asks the people of a run's chat whether its work should be continued, after the text that explains why it was
// given up. It asks before the run is completed; an error means that nothing was asked.
func (d *Approvals) Offer(ctx context.Context, run *conversation.Run, text string) error {
	m := run.Head.Message
	b := body{About: wording.AboutResume, Kind: m.Chat.Kind, Line: cut(text, maxShown)}
	if run.Head.ConsumedAt.IsZero() {
		for _, unread := range run.All() {
			b.Unread = append(b.Unread, unread.Message)
		}
	}
	row := domain.Question{Digest: fmt.Sprint("resume ", run.ID), ExpiresAt: time.Now().Add(offerLife)}
	_, _, err := d.store(ctx, run, row, b, recipient{at: m.Address(), kind: m.Chat.Kind}, nil)
	return err
}

// goOn continues the work where it was given up, with the authority of the question or of the caller, whichever is lower:
// accepting an offer must not raise it. Messages that Claude has not read are repeated as they were written.
func (d *Approvals) goOn(ctx context.Context, q question, caller chat.Caller) error {
	id, authority := domain.KeyResume.Of(q.row.ID), min(caller.Authority, q.row.Authority)
	if unread := slices.Clone(q.body.Unread); len(unread) > 0 {
		for i := range unread {
			unread[i].Authority = authority
		}
		return d.options.Intake.Repeat(ctx, id, q.row.Session, unread)
	}
	if isOperator(caller) {
		caller.Sender = chat.Sender{} // no person of this channel
	}
	caller.Address, caller.Kind, caller.Authority = q.row.To(), q.body.Kind, authority
	return d.options.Intake.Tell(ctx, id, q.row.Session, caller, "Go on from where you left off.")
}

// resume takes the answer to an offer.
func (d *Approvals) resume(ctx context.Context, q question, caller chat.Caller, word string) (reply string, err error) {
	state, said := domain.QuestionTaken, wording.LeftAlone(name(caller), q.body.Line)
	switch {
	case time.Now().After(q.row.ExpiresAt):
		state, said = domain.QuestionExpired, q.body.Line
	case word == "go":
		// First, so that a crash afterwards loses nothing: the same id begins it once.
		if err := d.goOn(ctx, q, caller); err != nil {
			return "", err
		}
		said = wording.GoingOn(name(caller), q.body.Line)
	}
	if _, settled, err := d.retire(ctx, q, state, said); err != nil || settled && state == domain.QuestionTaken {
		return "", err
	}
	return wording.QuestionClosed, nil
}

// Expire ends offers that were not accepted in time. Call it about every hour.
func (d *Approvals) Expire(ctx context.Context) {
	rows, err := d.options.Store.Questions(ctx)
	if err != nil {
		d.log.Error("offers could not be ended", "error", err)
	}
	for _, q := range readAll(rows) {
		if q.body.About == wording.AboutResume && time.Now().After(q.row.ExpiresAt) {
			if _, _, err := d.retire(ctx, q, domain.QuestionExpired, q.body.Line); err != nil {
				d.log.Warn("a question could not be retired", "question", q.row.ID, "error", err)
			}
		}
	}
}
