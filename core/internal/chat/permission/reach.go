package permission

import (
	"context"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxPeople bounds who is asked one question, besides the chat of its turn.
const maxPeople = 8

// recipient is a chat in which a question is asked.
type recipient struct {
	person string // whose direct chat it is, as channel:user; empty: it is the chat of the turn
	at     chat.Address
	kind   chat.Kind
}

// asksHere reports whether a question is asked in the chat of its turn: in a direct chat only if its person, or the owner whose chat
// it is, may answer.
func (d *Approvals) asksHere(ctx context.Context, run *conversation.Run, b body) bool {
	m := run.Head.Message
	return m.Chat.Kind != chat.Direct || d.answerable(ctx, run, b)
}

// answerable reports whether a person who is known to be in the chat of the turn may answer.
func (d *Approvals) answerable(ctx context.Context, run *conversation.Run, b body) bool {
	m := run.Head.Message
	return d.decides(run, b) || slices.ContainsFunc(d.options.Conversations.Config().Asked(config.ToOwners), func(owner string) bool {
		at, ok := d.options.Owners.Direct(ctx, owner)
		return ok && at == unthreaded(m.Address())
	})
}

// decides reports whether the person of the turn may answer.
func (d *Approvals) decides(run *conversation.Run, b body) bool {
	return d.options.Conversations.Decides(run.Caller) || b.personal() && run.Head.Message.Sender.ID != ""
}

func unthreaded(a chat.Address) chat.Address {
	a.Thread = ""
	return a
}

// step is what is next for an open question.
type step struct {
	due     []recipient // are to be asked now
	further bool        // others are asked later
	at      time.Time   // when; zero: none are
}

// next returns who is to be asked a question besides those who were. It follows from the config, the time and the question's
// messages alone, so that a restart changes nothing. Each entry of approvals.to has its time, unless nobody of it can be asked; the
// chat of the turn comes first. If no message arrives, the next entry is asked at once.
func (d *Approvals) next(ctx context.Context, run *conversation.Run, row domain.Question, b body) step {
	c := d.options.Conversations.Config()
	entries := c.Approvals.To
	if len(entries) == 0 && !d.answerable(ctx, run, b) {
		entries = c.Asked(config.ToOwners) // one after another
	}
	turn, lost, most := 0, len(row.Messages) > 0 && row.Lost(), maxPeople
	if d.asksHere(ctx, run, b) {
		turn++
	}
	var known []string // the people who need not be asked any more, by their identities
	for _, id := range run.Caller.Sender.IDs() {
		known = append(known, c.Identity(run.Caller.Address.Channel+":"+string(id)))
	}
	for _, m := range row.Messages {
		if m.Person == "" {
			continue
		}
		if most--; !m.Lost {
			known = append(known, c.Identity(m.Person))
		}
	}
	var s step
	for _, entry := range entries {
		var list []recipient
		asked := false
		for _, person := range c.Asked(entry) {
			at, running := d.options.Owners.Direct(ctx, person)
			there := func(m domain.QuestionMessage) bool { return m.Person == person || unthreaded(m.To) == at }
			switch i := slices.IndexFunc(row.Messages, there); {
			case i >= 0:
				asked = asked || row.Messages[i].Person != ""
			case running && most > 0 && !slices.Contains(known, c.Identity(person)):
				most--
				known, list = append(known, c.Identity(person)), append(list, recipient{person, at, chat.Direct})
			}
		}
		when := row.CreatedAt.Add(time.Duration(turn) * c.Approvals.EscalateAfter)
		if asked || len(list) > 0 {
			turn++
		}
		switch {
		case len(list) == 0:
		case !when.After(time.Now()), lost && len(s.due) == 0:
			s.due = append(s.due, list...)
		case !s.further:
			s.further, s.at = true, when
		}
	}
	return s
}

// pursue asks who is to be asked now, and returns when to look again.
func (d *Approvals) pursue(ctx context.Context, run *conversation.Run, row domain.Question, b body) time.Time {
	again := time.Now().Add(recheck)
	next := d.next(ctx, run, row, b)
	b = read(row).body
	if b.For == "" {
		m := run.Head.Message
		b.For = wording.PersonIn(m.Sender.Name(), m.Chat.Title)
	}
	for i, to := range next.due {
		message, items := d.compose(row.ID, b, to)
		_, err := d.options.Store.AskAlso(ctx, run.ID, row.ID, message, next.further || i < len(next.due)-1, items...)
		if err != nil && ctx.Err() != nil {
			return again
		}
		if err != nil {
			d.log.Warn("one more person could not be asked", "question", row.ID, "session", row.Session, "person", to.person, "error", err)
			return again
		}
		d.log.Info("one more person was asked", "question", row.ID, "session", row.Session, "person", to.person)
	}
	for _, at := range []time.Time{next.at, row.ExpiresAt} {
		if !at.IsZero() && at.Before(again) {
			again = at
		}
	}
	return again
}
