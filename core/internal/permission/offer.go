package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// offerLife is how long an offer stands.
const offerLife = 24 * time.Hour

// Offer asks the people of a run's chat whether its work is to be gone on with, after the text that tells why it was given up.
// It is asked before the run is completed; an error means that nothing was asked.
func (d *Desk) Offer(ctx context.Context, run *store.Run, text string) error {
	m := run.Message.Message
	b := body{About: aboutResume, Kind: m.Chat.Kind, Line: cut(text, maxShown)}
	encoded, err := json.Marshal(b)
	if err != nil {
		return err
	}
	row := store.Question{
		ID: newID(), ClaudeSession: run.Message.ClaudeSession, Digest: fmt.Sprint("resume ", run.ID), Authority: m.Authority,
		Asker: m.Channel + ":" + string(m.Sender.ID), To: m.Address(), Body: encoded, ExpiresAt: time.Now().Add(offerLife), Unseen: b.unseen(),
	}
	row, err = d.options.Store.Ask(ctx, run.ID, row, d.message(row.ID, row.To, &b)...)
	if err == nil {
		d.opened(row)
	}
	return err
}

// resume takes the answer to an offer. The work goes on where it was given up, and with no more authority than it had: who wants it
// does not vouch for what others have asked for.
func (d *Desk) resume(ctx context.Context, q question, caller chat.Caller, word string) (string, bool, error) {
	state, said := store.QuestionTaken, q.body.Line+"\n\n✖ Left, said "+name(caller)+"."
	switch {
	case time.Now().After(q.row.ExpiresAt):
		state, said = store.QuestionExpired, q.body.Line
	case word == "go":
		// First, so that a crash behind it loses nothing: the same id begins it once.
		as := caller
		as.Address, as.Kind, as.Authority = q.row.To, q.body.Kind, min(caller.Authority, q.row.Authority)
		if err := d.options.Tell(ctx, "resume:"+q.row.ID, q.row.Session, as, "Go on from where you left off."); err != nil {
			return "", true, err
		}
		said = q.body.Line + "\n\n▶ Going on, said " + name(caller) + "."
	}
	if _, now, err := d.settle(ctx, q.row.ID, state, verdict{}, said); err != nil || now && state == store.QuestionTaken {
		return "", true, err
	}
	return "This question is over.", true, nil
}
