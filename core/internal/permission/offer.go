package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// offerLife is how long an offer is valid.
const offerLife = 24 * time.Hour

// Offer asks the people of a run's chat whether its work should be continued, after the text that explains why it was
// given up. It asks before the run is completed; an error means that nothing was asked.
func (d *Approvals) Offer(ctx context.Context, run *conversation.Turn, text string) error {
	m := run.Head.Message
	b := body{About: wording.AboutResume, Kind: m.Chat.Kind, Line: cut(text, maxShown)}
	if run.Head.ConsumedAt.IsZero() {
		for _, unread := range run.All() {
			b.Unread = append(b.Unread, unread.Message)
		}
	}
	encoded, err := json.Marshal(b)
	if err != nil {
		return err
	}
	row := domain.Question{
		ID: newID(), ClaudeSession: run.Head.ClaudeSession, Digest: fmt.Sprint("resume ", run.ID), Authority: run.Caller.Authority,
		Asker: m.Channel + ":" + string(m.Sender.ID), To: m.Address(), Body: encoded, ExpiresAt: time.Now().Add(offerLife), Unseen: b.question("").Undelivered(),
	}
	_, err = d.store(ctx, run.ID, row, d.message(row.ID, row.To, &b))
	return err
}

// goOn continues the work where it was given up, with the same authority: the person who wants that gives the
// requests of others no more. Messages that Claude has not read are repeated as they were written.
func (d *Approvals) goOn(ctx context.Context, q question, caller chat.Caller) error {
	id, authority := chat.EventID("resume:"+q.row.ID), min(caller.Authority, q.row.Authority)
	if unread := slices.Clone(q.body.Unread); len(unread) > 0 {
		for i := range unread {
			unread[i].Authority = authority
		}
		return d.options.Intake.Repeat(ctx, id, q.row.Session, unread)
	}
	caller.Address, caller.Kind, caller.Authority = q.row.To, q.body.Kind, authority
	return d.options.Intake.Tell(ctx, id, q.row.Session, caller, "Go on from where you left off.")
}

// resume takes the answer to an offer.
func (d *Approvals) resume(ctx context.Context, q question, caller chat.Caller, word string) (string, bool, error) {
	state, said := domain.QuestionTaken, wording.LeftAlone(name(caller), q.body.Line)
	switch {
	case time.Now().After(q.row.ExpiresAt):
		state, said = domain.QuestionExpired, q.body.Line
	case word == "go":
		// First, so that a crash afterwards loses nothing: the same id begins it once.
		if err := d.goOn(ctx, q, caller); err != nil {
			return "", true, err
		}
		said = wording.GoingOn(name(caller), q.body.Line)
	}
	if _, now, err := d.settle(ctx, q.row.ID, state, verdict{}, said); err != nil || now && state == domain.QuestionTaken {
		return "", true, err
	}
	return wording.QuestionClosed, true, nil
}

// Expire ends offers that nobody has accepted in time. Call it about every hour: each new message is compared with all
// open questions.
func (d *Approvals) Expire(ctx context.Context) {
	now := time.Now()
	d.mu.Lock()
	var over []question
	for _, q := range d.open {
		if q.body.About == wording.AboutResume && now.After(q.row.ExpiresAt) {
			over = append(over, q)
		}
	}
	d.mu.Unlock()
	for _, q := range over {
		d.retire(ctx, q, domain.QuestionExpired, q.body.Line)
	}
}
